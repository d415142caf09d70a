"""Spark's Python worker above a rank: its task ends with it. By /proc."""

from __future__ import annotations

import os


class Worker:
    """The Python worker of Spark's above this process: its task ends with it.

    Horovod starts its ranks in a session of their own, whose leader the worker has started;
    torchrun's are in the worker's own.
    """

    def __init__(self) -> None:
        self._child = os.getsid(0) if _is_above(os.getsid(0)) else os.getpid()
        self._worker = _parent(self._child)

    @property
    def is_gone(self) -> bool:
        """Whether it has ended; False where there is no /proc."""
        return self._worker > 1 and _parent(self._child) != self._worker


def _is_above(ancestor: int) -> bool:
    process = os.getpid()
    while process > 1:
        if process == ancestor:
            return True
        process = _parent(process)
    return False


def _parent(process: int) -> int:
    """0 where it has ended, or nothing can tell."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
