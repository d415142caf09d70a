"""Processes by identity, not by number alone: a number is given again after its owner's end."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def identity(pid: int) -> str:
    """``pid:start time:boot`` of a living process, or an empty string.

    The start time is field 22 of /proc/PID/stat (proc(5)), in clock ticks since boot. Where there
    is no /proc the number alone serves.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return str(pid) if not Path("/proc/self/stat").exists() and _exists(pid) else ""
    fields = stat.rpartition(")")[2].split()
    if fields[0] == "Z":
        return ""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{pid}:{fields[19]}:{boot}"


def is_alive(known: str) -> bool:
    """Whether the process of that identity still runs."""
    return bool(known) and identity(int(known.partition(":")[0])) == known


def send(known: str, number: signal.Signals) -> bool:
    """Send a signal to the process of that identity; False where it has ended."""
    if not is_alive(known):
        return False
    try:
        os.kill(int(known.partition(":")[0]), number)
    except ProcessLookupError:
        return False
    return True


def adopt_orphans() -> None:
    """Make this process the parent of every orphan below it (Linux, prctl(2)), so that a process
    that left its group is still found."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(pid: int) -> list[int]:
    """Every living process below ``pid``, parents first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def end_descendants() -> None:
    """SIGKILL whatever still runs below this process, until nothing does."""
    for _ in range(50):
        below = descendants(os.getpid())
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        _reap()
        if not below:
            return


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
