"""`launch data` with places in Cloud Storage, against the loopback service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.command import Launch
from tests.data.made import class_folders
from tests.fakes.vertex_service import VertexService

pytestmark = pytest.mark.processes


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[VertexService]:
    with VertexService() as service:
        for name, value in service.environment().items():
            monkeypatch.setenv(name, value)
        service.objects.add_bucket("pictures")
        service.objects.add_bucket("theirs", project="somebody-elses")
        yield service


def test_pictures_become_a_place_there_that_is_told_and_shown(
    launch: Launch, google: VertexService
) -> None:
    class_folders(launch.folder / "photos", each=1)
    place = "gs://pictures/food"
    words = ("data", "parquet", "photos", place, "--workers", "1", "--json")

    made = launch(*words, **google.environment())
    info = launch("data", "info", place, "--verify", "--json", **google.environment())
    show = launch("data", "show", place, "--json", **google.environment())

    assert made.code == 0, made.err
    assert (made.json["rows"], made.json["made"]) == (3, True)
    assert info.code == 0, info.err
    assert info.json["classes"] == made.json["classes"]
    assert show.code == 0, show.err
    assert show.json["shown"] == show.json["rows"]
    assert (launch.folder / "sheet.png").is_file()


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("gs://nobodys/food", "The specified bucket does not exist"),
        ("gs://theirs/food", "Permission 'storage.objects.list' denied"),
        ("gs://pictures/begun", "a conversion that is not finished"),
    ],
)
def test_what_is_no_place_there_is_one_line(
    launch: Launch, google: VertexService, place: str, found: str
) -> None:
    google.objects.put("gs://pictures/begun/_conversion/plan.json", b"{}")

    info = launch("data", "info", place, **google.environment())

    assert info.code == 2
    assert f"{place}: " in info.err
    assert found in info.err
    assert "google::" not in info.err
    assert "retry_limit" not in info.err
