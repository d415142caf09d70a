"""Spark's Python worker above a rank: its task ends with it. By /proc."""

from __future__ import annotations

import os

from launch_runtime.spark.where import parent_of


class Worker:
    """The Python worker of Spark's above this process: its task ends with it.

    Horovod starts its ranks in a session of their own, whose leader the worker has started;
    torchrun's are in the worker's own.
    """

    def __init__(self) -> None:
        self._child = os.getsid(0) if _is_above(os.getsid(0)) else os.getpid()
        self._worker = parent_of(self._child)

    @property
    def is_gone(self) -> bool:
        """Whether it has ended; False where there is no /proc."""
        return self._worker > 1 and parent_of(self._child) != self._worker


def _is_above(ancestor: int) -> bool:
    process = os.getpid()
    while process > 1:
        if process == ancestor:
            return True
        process = parent_of(process)
    return False
