"""What the runs of a study become: which are still to do, and how one that has ended is kept."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from launchers.core.model.jobs import FINAL_STATES, SUCCEEDED, JobStatus, LogLine
from launchers.core.printable import printable
from launchers.scaling.reading import read
from launchers.scaling.results import Run

WAITING, NOT_STARTED = "waiting", "not started"
# Over so long it is looked at what else keeps the cores busy.
_LOOK_SECONDS = 0.3


def is_done(run: Run) -> bool:
    """Whether the run has ended, well or not."""
    return run.state in FINAL_STATES or run.state == NOT_STARTED


def renewed(run: Run) -> Run:
    """The run as before its start."""
    return Run(run.size, run.repeat, run.world_size)


def to_do(runs: Iterable[Run], again: bool) -> list[Run]:
    """The runs that have not ended; with ``again`` those that failed as well, from the start."""
    return [
        renewed(run) if is_done(run) else run
        for run in runs
        if not is_done(run) or (again and run.state != SUCCEEDED)
    ]


def ended(run: Run, status: JobStatus, lines: Iterable[LogLine], cost: float | None = None) -> Run:
    """The run with how its job ended and what its output says.

    Args:
        status: Of the job, final.
        lines: All of the job's.
    """
    said = read(lines)
    diverged = f"its loss is no number from epoch {said.diverged} on" if said.diverged else ""
    reason = diverged if status.state == SUCCEEDED else status.reason
    return replace(
        run,
        state=status.state,
        reason=printable(reason)[:300],
        epochs=said.epochs,
        test_accuracy=said.test_accuracy,
        test_loss=said.test_loss,
        cost=cost,
    )


def cores_busy() -> float | None:
    """How many cores of this machine are busy, looked at for a moment; None where the system does
    not say. Blocks that long."""
    before = _ticks()
    time.sleep(_LOOK_SECONDS)
    after = _ticks()
    if before is None or after is None or after[1] <= before[1]:
        return None
    busy = (after[0] - before[0]) / (after[1] - before[1])
    return round(max(busy, 0.0) * (os.cpu_count() or 1), 2)


def _ticks() -> tuple[int, int] | None:
    """Busy and all ticks of all cores since the machine's start (proc(5))."""
    try:
        words = Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:9]
        numbers = [int(word) for word in words]
    except (OSError, ValueError, IndexError):
        return None
    idle = sum(numbers[3:5])  # idle, iowait
    return sum(numbers) - idle, sum(numbers)


def usable_cores() -> int:
    """The cores that this process, and what it starts, may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def machine_text() -> str:
    """``AMD EPYC 7B13, 2 cores``: this machine's processor, for people."""
    cores = usable_cores()
    number = "1 core" if cores == 1 else f"{cores} cores"
    return f"{_processor()}, {number}"


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return printable(line.partition(":")[2].strip())
    except OSError:
        pass
    import platform

    return platform.processor() or platform.machine()
