"""`--limit` where agents start the ranks."""

from __future__ import annotations

import pytest

from tests.cli.command import Launch

VERTEX = ("vertex", "train.py", "--gpus", "4", "--instances", "2", "--image", "gcr.io/p/i:1")
TRAIN = "import horovod.tensorflow as hvd\nhvd.init()\n"


@pytest.fixture
def launch(tmp_path) -> Launch:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    return Launch(tmp_path / "home", folder)


def variables(document) -> dict[str, str]:
    pools = document["jobSpec"]["workerPoolSpecs"]
    return {one["name"]: one["value"] for one in pools[1]["containerSpec"]["env"]}


def test_limits_are_in_the_plan_and_in_the_document(launch: Launch) -> None:
    answer = launch(*VERTEX, "--limit", "join=10m", "--limit", "bundle=2m", "--dry-run")
    assert answer.code == 0, answer.err
    assert "join 10m, bundle 2m" in answer.err
    found = variables(answer.json)
    assert (found["LAUNCH_JOIN_TIMEOUT"], found["LAUNCH_BUNDLE_TIMEOUT"]) == ("600", "120")
    plain = launch(*VERTEX, "--dry-run")
    assert "LAUNCH_JOIN_TIMEOUT" not in variables(plain.json)
    assert "(--limit)" not in plain.err


def test_limits_of_a_file_give_way_to_a_flag(launch: Launch) -> None:
    (launch.folder / "launch.yaml").write_text("vertex:\n  limits: {join: 5m, host: 45s}\n")
    answer = launch(*VERTEX, "--limit", "join=10m", "--dry-run")
    assert answer.code == 0, answer.err
    found = variables(answer.json)
    assert (found["LAUNCH_JOIN_TIMEOUT"], found["LAUNCH_HOST_TIMEOUT"]) == ("600", "45")


def test_a_limit_that_a_provider_has_not_is_refused_with_those_that_it_has(launch: Launch) -> None:
    answer = launch("local", "train.py", "--limit", "bundle=2m", "--dry-run")
    assert answer.code == 2
    assert "join, host, init or reminder" in answer.err


def test_the_variable_is_refused_with_the_flag(launch: Launch) -> None:
    answer = launch(*VERTEX, "--env", "LAUNCH_JOIN_TIMEOUT=600", "--dry-run")
    assert answer.code == 2
    assert "use --limit join=TIME" in answer.err
