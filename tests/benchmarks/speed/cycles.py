"""cycles: two ranks at several values of HOROVOD_CYCLE_TIME, in turn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks.measure import median, print_table, with_spread
from tests.benchmarks.speed import jobs, load
from tests.benchmarks.speed.work import RANKS, Asked, Work, write_pictures

VARIABLE = "HOROVOD_CYCLE_TIME"
OWN = 1  # ms, Horovod's
CYCLES = (OWN, 2, 5, 10, 25)


def run(asked: Asked) -> None:
    """Print the table. Blocks for long: every value has a training in each round."""
    rounds = 1 if asked.smoke else asked.pairs
    averages, seen = os.getloadavg(), list[float]()
    with tempfile.TemporaryDirectory(prefix="launch-speed-") as name:
        folder = Path(name)
        write_pictures(folder / "data", asked.work.pictures)
        found = _rates(asked.work, folder, rounds, seen)
    print_table(
        f"{asked.work.title}: images a second of {RANKS} ranks by {VARIABLE}, medians of {rounds} "
        f"round{'s' * (rounds > 1)} in turn",
        ["cycle, ms", "images/s", f"beside {OWN} ms"],
        cells(found),
    )
    print(f"\n{load.said(averages, seen)}", flush=True)


def cells(rates: Mapping[int, Sequence[float]]) -> list[list[str]]:
    """The table's rows; of each cycle ``rates`` has the rounds, in the same order."""
    rows = []
    for cycle, found in rates.items():
        ratios = [rate / own for rate, own in zip(found, rates[OWN], strict=True)]
        spread = with_spread(ratios)
        middle = median(found)
        rate = f"{middle:,.{0 if middle >= 100 else 1}f}"
        rows.append([str(cycle), rate, "" if cycle == OWN else spread])
    return rows


def _rates(work: Work, folder: Path, rounds: int, seen: list[float]) -> dict[int, list[float]]:
    rates: dict[int, list[float]] = {cycle: [] for cycle in CYCLES}
    arguments = work.arguments(folder / "data")
    for number in range(rounds):
        for cycle in CYCLES if number % 2 == 0 else CYCLES[::-1]:
            seen.append(load.others())
            flags = ["--env", f"{VARIABLE}={cycle}"]
            job = jobs.launched(folder / f"run-{number}-{cycle}", RANKS, arguments, flags)
            rates[cycle].append(jobs.steady(jobs.metrics_of(job)[0]))
    return rates
