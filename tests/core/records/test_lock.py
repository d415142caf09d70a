"""A lock that goes with its process."""

from __future__ import annotations

import errno
import importlib.util
import os
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.records import lock
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


def test_a_lock_is_its_owners_alone(home: Path) -> None:
    with process_lock("job"):
        assert (home / "locks").stat().st_mode & 0o777 == 0o700
        assert (home / "locks" / "job.lock").stat().st_mode & 0o777 == 0o600


def test_a_lock_whose_file_was_taken_away_ends_quietly(home: Path) -> None:
    with process_lock("job"):
        (home / "locks" / "job.lock").unlink()


class Windows(types.ModuleType):
    """Stands for ``msvcrt``, whose LK_LOCK gives up after ten seconds: the first ``busy`` calls
    find the file locked."""

    LK_LOCK, LK_NBLCK = 1, 2

    def __init__(self, busy: int) -> None:
        super().__init__("msvcrt")
        self.busy = busy
        self.calls: list[tuple[int, int]] = []

    def locking(self, _: int, mode: int, count: int) -> None:
        """Locks ``count`` bytes."""
        self.calls.append((mode, count))
        if len(self.calls) <= self.busy:
            raise OSError(errno.EACCES, "Permission denied")


@pytest.mark.parametrize(
    ("busy", "calls", "told"),
    [(0, [(2, 1)], 0), (1, [(2, 1), (1, 1)], 1), (3, [(2, 1), (1, 1), (1, 1), (1, 1)], 1)],
)
def test_on_windows_one_waits_as_long_as_it_takes_and_is_told_so_once(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    busy: int,
    calls: list[tuple[int, int]],
    told: int,
) -> None:
    windows = Windows(busy)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    there = _on_windows(monkeypatch)
    waits: list[None] = []

    with there.process_lock("job", lambda: waits.append(None)):
        assert windows.calls == calls

    assert len(waits) == told
    assert not list((home / "locks").iterdir())


def test_on_windows_a_file_goes_closed_and_one_that_has_gone_is_no_error(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "msvcrt", Windows(0))
    there = _on_windows(monkeypatch)
    unlink, closed = Path.unlink, []
    monkeypatch.setattr(there.os, "close", lambda file, close=os.close: closed.append(close(file)))
    monkeypatch.setattr(Path, "unlink", lambda path, **how: closed and unlink(path, **how))

    with there.process_lock("job"):
        (home / "locks" / "job.lock").rename(home / "gone")

    assert not list((home / "locks").iterdir())


def _on_windows(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module as Windows has it."""
    monkeypatch.setattr(sys, "platform", "win32")
    spec = importlib.util.spec_from_file_location("lock_on_windows", lock.__file__)
    assert spec is not None
    assert spec.loader is not None
    there = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(there)
    return there
