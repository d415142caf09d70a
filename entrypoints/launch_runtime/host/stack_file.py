"""Asks one rank for its stacks, and reads what its processes write.

Nothing is sent to a process that isn't ready for it: the signal would end it.
"""

from __future__ import annotations

import os
import signal
import tempfile
from typing import Any, NamedTuple, Sequence

from launch_runtime import stacks
from launch_runtime.host.processes import descendants
from launch_runtime.stacks import Thread, Wait

SIGNAL = getattr(signal, "SIGRTMAX", 0) - 9  # rank/stacks.py has the same
PROCESSES = 8  # of one rank that are asked
_LIMIT = 1 << 20  # bytes that are read of one answer
_BUSY = 0.5  # of the time that was looked at


class Asked(NamedTuple):
    """A process that was asked.

    Attributes:
        pid: Its number.
        begin: Where its answer begins in the file.
        cpu: Its seconds of processor time then.
    """

    pid: int
    begin: int
    cpu: float


class StackFile:
    """The file that a rank's guard, and what it forks, write their stacks to."""

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self.descriptor = os.memfd_create("launch-stacks", 0)
        else:
            self.descriptor, path = tempfile.mkstemp(prefix="launch-stacks-")
            os.unlink(path)

    def processes(self, guard: int) -> list[int]:
        """The rank's processes that can be asked, the guard first."""
        if SIGNAL < 0:
            return []
        found = [guard, *(pid for pid in descendants(guard) if pid != guard)]
        return [pid for pid in found if self._is_ready(pid)][:PROCESSES]

    def ask(self, pid: int) -> Asked | None:
        """Asks one process; :meth:`answer` has it a little later."""
        asked = Asked(pid, self.size, cpu_seconds(pid))
        try:
            os.kill(pid, SIGNAL)
        except (ProcessLookupError, PermissionError):
            return None
        return asked

    @property
    def size(self) -> int:
        """In bytes, all answers together."""
        return os.fstat(self.descriptor).st_size

    def answer(self, asked: Asked) -> list[Thread]:
        """The threads of a process; none where it hasn't answered."""
        data = os.pread(self.descriptor, _LIMIT, asked.begin)
        return stacks.read(data.decode("utf-8", "replace"))

    def _is_ready(self, pid: int) -> bool:
        """Whether it has a handler for the signal, and our file where that writes."""
        try:
            own, its = os.fstat(self.descriptor), os.stat(f"/proc/{pid}/fd/{self.descriptor}")
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
                caught = next(line for line in file if line.startswith("SigCgt:")).split()[1]
        except (OSError, StopIteration, IndexError):
            return False
        same = (own.st_dev, own.st_ino) == (its.st_dev, its.st_ino)
        return same and bool(int(caught, 16) >> (SIGNAL - 1) & 1)


def described(
    answers: Sequence[tuple[int, Sequence[Thread]]], waits: Sequence[Wait], state: str, busy: bool
) -> dict[str, Any]:
    """A rank's stacks in a few words, for the coordinator.

    Args:
        answers: Process and its threads, the guard's first.
        waits: Where ranks wait for each other.
        state: The kernel's letter for the guard.
        busy: Whether it used a processor while it was looked at.

    Returns:
        ``at``, the user's line; ``waits``, the function in which it waits for others, or "";
        ``beside``, a line of the user's in another thread or process, or ""; ``state``, ``busy``.
    """
    threads = [(number, thread) for number, (_, found) in enumerate(answers) for thread in found]
    main = next((thread for number, thread in threads if not number and thread.is_main), None)
    others = [thread for _, thread in threads if thread is not main]
    place = main.own or next(iter(main.frames), None) if main else None
    at = str(place) if place else ""
    places = [str(thread.own) for thread in others if thread.own]
    beside = next((place for place in places if place != at), "")
    return {
        "at": at,
        "waits": stacks.waits_in(main, waits) if main else "",
        "beside": beside,
        "state": state,
        "busy": busy,
    }


def state_of(pid: int) -> str:
    """The kernel's letter for a process (proc(5)): R, S, D, T and so on; "" where there is none."""
    return _stat(pid)[0] if _stat(pid) else ""


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def is_busy(asked: Asked, seconds: float) -> bool:
    """Whether a process has computed for most of the ``seconds`` since it was asked."""
    return cpu_seconds(asked.pid) - asked.cpu > _BUSY * seconds


def _stat(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode("ascii", "replace").split()
    except OSError:
        return []
