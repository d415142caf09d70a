"""What else this machine is doing while something is measured on it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.measure import median

_STAT = Path("/proc/stat")


def cores_busy(before: str, after: str) -> float:
    """Cores that computed between two readings of /proc/stat, for anybody.

    Time that the hypervisor took away (steal) counts as busy, that spent waiting for a disk doesn't
    (proc_stat(5)).
    """
    cores = sum(line.startswith("cpu") for line in before.splitlines()) - 1
    first, last = (
        [int(word) for word in text.split("\n", 1)[0].split()[1:9]] for text in (before, after)
    )
    passed = [late - early for early, late in zip(first, last, strict=True)]
    idle = passed[3] + passed[4]
    return cores * (1 - idle / sum(passed)) if sum(passed) else 0.0


def others(seconds: float = 1.0) -> float:
    """Cores that others keep busy now; blocks for ``seconds``, so nothing of ours may run."""
    before = _STAT.read_text()
    time.sleep(seconds)
    return cores_busy(before, _STAT.read_text())


def said(averages: Sequence[float], seen: Sequence[float]) -> str:
    """The load in a line.

    Args:
        averages: :func:`os.getloadavg` before the first run.
        seen: What :func:`others` said before each run.
    """
    return (
        f"Load average before the first run {averages[0]:.2f} (1 min), {averages[1]:.2f} (5 min); "
        f"other work in the second before each run: median {median(seen):.2f} of "
        f"{os.cpu_count()} cores, at most {max(seen):.2f}."
    )
