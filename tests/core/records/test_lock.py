"""A lock that goes with its process."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.records.lock import process_lock
from tests.waiting import until


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path))
    return tmp_path


def test_nothing_of_a_lock_is_left(home: Path) -> None:
    with process_lock("job"):
        assert [path.name for path in (home / "locks").iterdir()] == ["job.lock"]

    assert not list((home / "locks").iterdir())


def test_a_second_one_waits_is_told_so_once_and_then_is_alone() -> None:
    order: list[str] = []

    def second() -> None:
        with process_lock("job", lambda: order.append("waits")):
            order.append("second")

    thread = threading.Thread(target=second)
    with process_lock("job"):
        thread.start()
        until(lambda: order == ["waits"])
        order.append("first")
    thread.join()

    assert order == ["waits", "first", "second"]


def test_another_name_is_no_hindrance() -> None:
    with process_lock("one"), process_lock("other", lambda: pytest.fail("it waited")):
        pass


def test_a_lock_ends_with_an_error_inside() -> None:
    with pytest.raises(ZeroDivisionError), process_lock("job"):
        _ = 1 / 0

    with process_lock("job", lambda: pytest.fail("it waited")):
        pass


def test_a_data_folder_that_takes_no_file_is_told(home: Path) -> None:
    (home / "locks").write_text("")

    with pytest.raises(LaunchError, match="LAUNCH_HOME"), process_lock("job"):
        pass
