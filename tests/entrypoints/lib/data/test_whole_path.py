"""A place that leads elsewhere from where a rank works than where it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from entrypoints.lib import arguments
from entrypoints.lib.data import sources
from entrypoints.lib.errors import TrainingError


@pytest.fixture
def of_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's shell; the rank works in another one."""
    for name in ("user", "rank"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "rank")
    monkeypatch.setenv("PWD", str(tmp_path / "user"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "user" / "food").mkdir()
    return tmp_path / "user"


@pytest.mark.parametrize(
    ("argv", "why", "give"),
    [
        (["--data", "parquet:food"], "is relative", "--data parquet:{user}/food"),
        (["--data", "images:./food/"], "is relative", "--data images:{user}/food"),
        (["--data", "mnist-files:~/food"], "replaces a ~", "--data mnist-files:{user}/food"),
        (["--data", "augment:fod"], "is relative", "such as --data augment:/home/me/fod"),
        (["--data", "parquet:~/fod"], "replaces a ~", "such as --data parquet:/home/me/fod"),
        (["--data", "images", "--data-dir", "food"], "is relative", "--data-dir {user}/food"),
        (["--data", "cifar10", "--data-dir", "food"], "is relative", "--data-dir {user}/food"),
    ],
)
def test_a_place_that_is_not_whole_is_told_with_the_whole_path(
    of_user: Path, argv: list[str], why: str, give: str
) -> None:
    whole = give.format(user=of_user)
    with pytest.raises(TrainingError, match=rf"{why}.*\. Give the absolute path(: |, ){whole}$"):
        sources.load(arguments.parse(argv), arrays="augment" not in argv[1])


def test_a_relative_place_that_is_there_is_taken(of_user: Path) -> None:
    (of_user.parent / "rank" / "food").mkdir()
    with pytest.raises(TrainingError, match=r"^food: is no folder or is empty"):
        sources.load(arguments.parse(["--data", "images:food"]), arrays=True)
