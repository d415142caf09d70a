"""What a test starts ends with it: the processes below this one, orphans too, and their end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections import defaultdict
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_KNOWS_CHILDREN = os.path.exists("/proc/thread-self/children")  # a kernel may be built without


def adopt_orphans() -> None:
    """Make this process the parent of whatever its descendants leave behind."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def hear_interrupts() -> None:
    """Give SIGINT and SIGHUP back their meaning where whoever started this has them ignored (a
    shell's background, nohup): what tests start would inherit it, and never be interrupted."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        # It still does nothing here, and does not last beyond an exec.
        signal.signal(signal.SIGHUP, lambda number, frame: None)


def descendants(of: int | None = None) -> dict[int, str]:
    """The processes below this one, or another: number and command line, "" for a zombie."""
    if of is None and not _has_children():
        return {}
    children = _children if _KNOWS_CHILDREN else _all_parents().__getitem__
    found: dict[int, str] = {}
    below = list(children(os.getpid() if of is None else of))
    while below:
        pid = below.pop()
        found[pid] = _command(pid)
        below += children(pid)
    return found


def end_others_than(known: set[int], seconds: float) -> list[str]:
    """Give what is new ``seconds`` to end by itself, then kill it; gives the commands of that."""
    deadline = time.monotonic() + seconds
    while new := {pid: command for pid, command in descendants().items() if pid not in known}:
        living = [command for command in new.values() if command]
        if time.monotonic() > deadline or not living:
            for pid, command in new.items():
                _end(pid, bool(command))
            return living + (end_others_than(known, 0) if living else [])
        time.sleep(0.05)
    return []


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _children(pid: int) -> list[int]:
    """As the kernel keeps them, by the thread that started each."""
    found: list[int] = []
    # Before and after each of thousands of tests: without Path's and a stream's own work.
    with contextlib.suppress(OSError):  # it ended meanwhile
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    return found


def _all_parents() -> dict[int, list[int]]:
    """Process -> its children, by a look at all processes of the machine."""
    children: dict[int, list[int]] = defaultdict(list)
    for name in os.listdir("/proc"):
        if name.isdecimal() and (parent := _parent(name)) is not None:
            children[parent].append(int(name))
    return children


def _parent(pid: str) -> int | None:
    try:
        return int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split(None, 2)[1])
    except OSError:  # it ended meanwhile
        return None


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 1 << 16)
    finally:
        os.close(file)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""


def _end(pid: int, living: bool) -> None:
    try:
        if living:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return
