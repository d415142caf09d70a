"""One process at a time for what must not be done twice at once."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from launchers.core.paths import writing
from launchers.core.records.ledger import data_folder


@contextmanager
def process_lock(name: str, waits: Callable[[], None] = lambda: None) -> Iterator[None]:
    """No other launcher with this data folder is within the same ``name`` meanwhile.

    Blocks while one is. A lock goes with its process, however that ends.

    Args:
        name: Becomes a file's name.
        waits: Called once where another one is within.

    Raises:
        LaunchError: The data folder takes no file.
    """
    folder = data_folder() / "locks"
    path = folder / f"{name}.lock"
    fix = "set LAUNCH_HOME to a folder that you may write to"
    with writing(path, fix, "a file that can be locked"):
        folder.mkdir(mode=0o700, exist_ok=True)
        file = _locked(path, waits)
    try:
        yield
    finally:
        if sys.platform == "win32":
            # No file that is open goes there; one that the next in line has open stays.
            os.close(file)
            with contextlib.suppress(PermissionError):
                path.unlink(missing_ok=True)
        else:
            path.unlink(missing_ok=True)
            os.close(file)


def _locked(path: Path, waits: Callable[[], None]) -> int:
    """An open file that is locked, and is the one that ``path`` names."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        _take(file, waits)
        # The process before may have taken the file away: then this is a lock on nothing.
        try:
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except FileNotFoundError:
            pass
        os.close(file)


if sys.platform == "win32":

    def _take(file: int, waits: Callable[[], None]) -> None:
        """Locks the file's first byte; LK_LOCK gives up after ten seconds."""
        import msvcrt

        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            return
        except OSError:
            waits()
        while True:
            with contextlib.suppress(OSError):
                msvcrt.locking(file, msvcrt.LK_LOCK, 1)
                return

else:

    def _take(file: int, waits: Callable[[], None]) -> None:
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waits()
            fcntl.flock(file, fcntl.LOCK_EX)
