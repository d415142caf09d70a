"""stragglers: what two ranks would lose by waiting for the slower one alone, without any exchange.

Two processes of plain Keras train at the same time, each on a core of its own, and know nothing of
each other. Their n-th steps are put beside each other: ranks that average every step take as long
as the slower one. What that costs is what the cores differ by from step to step; no way of
exchanging gradients wins it back.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.measure import median, print_table, with_spread
from tests.benchmarks.speed import jobs, load
from tests.benchmarks.speed.pairs import PLAIN, two_cores
from tests.benchmarks.speed.work import RANKS, Asked, Work, write_pictures


def run(asked: Asked) -> None:
    """Print the table. Blocks for minutes."""
    rounds = 1 if asked.smoke else asked.pairs
    averages, seen, found = os.getloadavg(), list[float](), list[tuple[float, float]]()
    with tempfile.TemporaryDirectory(prefix="launch-speed-") as name:
        folder = Path(name)
        write_pictures(folder / "data", asked.work.pictures // RANKS)
        for number in range(rounds):
            seen.append(load.others())
            steps = _steps(asked.work, folder, number)
            found.append(rates(*steps, asked.work.batch))
    ratios = [together / apart for apart, together in found]
    middles = [median(column) for column in zip(*found, strict=True)]
    print_table(
        f"{asked.work.title}: {RANKS} processes that know nothing of each other, a core each, "
        f"images a second of both, medians of {rounds} round{'s' * (rounds > 1)}",
        ["each at its own pace", "if each step waited for the slower", "ratio"],
        [
            [
                *(f"{rate:,.{0 if rate >= 100 else 1}f}" for rate in middles),
                with_spread(ratios),
            ]
        ],
    )
    print(f"\n{load.said(averages, seen)}", flush=True)


def rates(one: Sequence[float], other: Sequence[float], batch: int) -> tuple[float, float]:
    """Images a second of both at their own pace, and in step.

    Args:
        one: Seconds of the first's steps.
        other: Of the second's; as many.
        batch: Pictures of a step of one process.
    """
    slower = sum(map(max, zip(one, other, strict=True)))
    apart = len(one) * batch / sum(one) + len(other) * batch / sum(other)
    return apart, (len(one) + len(other)) * batch / slower


def _steps(work: Work, folder: Path, number: int) -> list[list[float]]:
    """The seconds of each process's steps after its first epoch."""
    both = []
    for core in two_cores():
        place = folder / f"run-{number}-{core}"
        words = [sys.executable, str(PLAIN), str(folder / "data"), "--model", work.model]
        words += ["--metrics", str(place / "metrics.json"), "--side", str(work.side)]
        words += ["--batch", str(work.batch), "--epochs", str(work.epochs)]
        job = jobs.Job(words, jobs.bare_environment(place), place)
        both.append(jobs.on_cores(job, [core]))
    return [
        [step for epoch in metrics["history"][1:] for step in epoch["step_seconds"]]
        for metrics in jobs.metrics_of(*both)
    ]
