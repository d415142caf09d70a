"""Which executor a process belongs to. Runs on executors, without PySpark."""

from __future__ import annotations

import os

# On the command line of every executor's JVM, whoever has started it: standalone workers, YARN's
# node managers and Kubernetes' image alike (CoarseGrainedExecutorBackend.parseArguments).
_FLAG = b"--executor-id"
_MOST_PARENTS = 64


def executor_id(process: int | None = None) -> str:
    """The id of the executor that ``process``, or this one, descends from; "" where there is none:
    the driver is its own executor, its JVM is gone, or this is no Linux."""
    return _above(process)[0]


def executor_process() -> int:
    """The JVM of the executor that this process descends from; 0 where there is none."""
    return _above(None)[1]


def _above(process: int | None) -> tuple[str, int]:
    process = os.getpid() if process is None else process
    for _ in range(_MOST_PARENTS):
        words = _command(process)
        if _FLAG in words[:-1]:
            return words[words.index(_FLAG) + 1].decode("utf-8", "replace"), process
        process = parent_of(process)
        if process <= 1:
            break
    return "", 0


def _command(process: int) -> list[bytes]:
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def parent_of(process: int) -> int:
    """0 where it has ended, or nothing can tell."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            # The command in parentheses may hold anything, blanks and parentheses too.
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
