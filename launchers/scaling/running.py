"""What the runs of a study become: which are still to do, and how one that has ended is kept."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from launchers.core.model.jobs import FINAL_STATES, SUCCEEDED, JobStatus, LogLine
from launchers.core.printable import printable
from launchers.scaling.reading import read
from launchers.scaling.results import Run

NOT_STARTED = "not started"
# Over so long it is looked at what else keeps the cores busy.
_LOOK_SECONDS = 0.3
_STAT = Path("/proc/stat")


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
    reason = status.reason
    if status.state == SUCCEEDED:
        at = said.diverged
        reason = "" if at is None else f"its loss is not a number from epoch {at} on"
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
    """How many of the cores that this process may use are busy, looked at for a moment; None where
    the system does not say. Blocks that long."""
    try:
        before = _STAT.read_text("ascii")
        time.sleep(_LOOK_SECONDS)
        after = _STAT.read_text("ascii")
    except (OSError, ValueError):
        return None
    return busy_between(before, after, _usable())


def busy_between(before: str, after: str, usable: Collection[int] | None) -> float | None:
    """How many cores were busy between two readings of /proc/stat (proc(5)); None where they don't
    say.

    Args:
        usable: Numbers of the cores that count; None for all.
    """
    first, last = _ticks(before, usable), _ticks(after, usable)
    if first is None or last is None or last[1] <= first[1]:
        return None
    busy = (last[0] - first[0]) / (last[1] - first[1])
    return round(max(busy, 0.0) * last[2], 2)


def _ticks(text: str, usable: Collection[int] | None) -> tuple[int, int, int] | None:
    """Busy and all ticks since the machine's start of the cores that count, and their number."""
    busy = together = cores = 0
    for line in text.splitlines():
        name, *words = line.split() or [""]
        if not re.fullmatch(r"cpu[0-9]+", name):
            continue
        if usable is not None and int(name[3:]) not in usable:
            continue
        try:
            numbers = [int(word) for word in words[:8]]
        except ValueError:
            return None
        together += sum(numbers)
        busy += sum(numbers) - sum(numbers[3:5])  # idle, iowait
        cores += 1
    return (busy, together, cores) if cores else None


def usable_cores() -> int:
    """The cores that this process, and what it starts, may use."""
    usable = _usable()
    return os.cpu_count() or 1 if usable is None else len(usable)


def _usable() -> Collection[int] | None:
    """Their numbers; None where the system does not say."""
    try:
        return os.sched_getaffinity(0)
    except AttributeError:  # not on macOS
        return None


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
