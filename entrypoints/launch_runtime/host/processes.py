"""Ending processes for good: groups, and whatever the ranks started that left its group."""

from __future__ import annotations

import ctypes
import os
import signal
import time

_PR_SET_CHILD_SUBREAPER = 36  # Linux 3.4, prctl(2)
_PROC = "/proc"


def adopt_orphans() -> None:
    """Makes this process the parent of what its ranks leave behind, so that it can be found.

    Linux alone; elsewhere processes that left their rank's group are not found.
    """
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        return


def reap_orphans(ours: set[int]) -> None:
    """Collects adopted processes that have ended; leaves those in ``ours`` to their owner."""
    if not hasattr(os, "waitid"):
        return
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in ours:
            return
        os.waitpid(found.si_pid, 0)


def signal_group(leader: int, number: int) -> None:
    """Sends a signal to a process group that may be gone."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return


def end_descendants(seconds: float) -> list[int]:
    """Kills everything below this process; blocks until it is gone, ``seconds`` at most.

    Returns:
        What is left: processes of another user, or stuck in the kernel.
    """
    deadline = time.monotonic() + seconds
    while True:
        left = descendants(os.getpid())
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        reap_orphans(set())
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.01)


def descendants(root: int) -> list[int]:
    """The living processes below ``root``, by /proc; none where there is no /proc."""
    parents = _parents()
    below = {root}
    while True:
        found = {process for process, parent in parents.items() if parent in below} - below
        if not found:
            return sorted(below - {root})
        below |= found


def _parents() -> dict[int, int]:
    """Every process that is no zombie, with its parent. A zombie's children have been adopted."""
    parents: dict[int, int] = {}
    try:
        names = os.listdir(_PROC)
    except OSError:
        return parents
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"{_PROC}/{name}/stat", "rb") as file:
                # The command in parentheses may hold anything, blanks and parentheses too.
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state not in b"ZX":
            parents[int(name)] = int(parent)
    return parents
