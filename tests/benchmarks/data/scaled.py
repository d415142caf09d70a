"""data-scaled: JPEG decoded at a reduced size where the model wants less than the picture has; with
the difference in pixels, and in accuracy of a small model over several seeds."""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import mean, median, stdev

from tests.benchmarks.data.making import made
from tests.benchmarks.data.racing import QUIET, READERS, Rate, Reader, Way, print_race, race, ratio
from tests.benchmarks.data.sizes import Sizes
from tests.benchmarks.measure import print_table, quiet_environment
from tests.places import ENTRYPOINTS

STORED = 256
WANTED = {8: 32, 2: 128}
WHOLE, SCALED = "decoded whole", "decoded to scale"


def run(sizes: Sizes) -> dict[str, dict[str, list[Rate]]]:
    """Print three tables: rates, pixels, accuracy."""
    found, rows = {}, []
    with made(sizes, sizes.pictures, STORED) as places:
        train = str(places.train)
        for times, side in WANTED.items():
            whole = (train, "--decode", "graph", "--side", str(side))
            readers = [
                Reader(SCALED, "from_launch.py", (*whole, "--scaled")),
                Reader(WHOLE, "from_launch.py", whole),
            ]
            rates = race(readers, sizes.runs, Way(1, sizes.pictures // 4, sizes.seconds))
            found[f"stored side {times} x the wanted"] = rates
            print_race(f"Stored {STORED}, wanted {side}: {times} x", rates)
            rows.append(_differences(train, side, times, rates, sizes))
    print_table(
        "Decoded to scale beside decoded whole (pixels 0 to 255; accuracy of a small CNN, "
        f"{sizes.runs} seeds)",
        [
            "stored/wanted",
            "rate",
            "pixels, mean difference",
            "largest",
            "whole",
            "to scale",
            "noise",
        ],
        rows,
    )
    return found


def _differences(
    train: str, side: int, times: int, rates: dict[str, list[Rate]], sizes: Sizes
) -> list[str]:
    """A row: what the other way of decoding changes. Noise is the seeds' standard deviation."""
    words = [sys.executable, str(READERS / "differences.py"), train]
    words += ["--side", str(side), "--seeds", str(sizes.runs), "--epochs", str(sizes.epochs)]
    environment = quiet_environment(**QUIET, PYTHONPATH=str(ENTRYPOINTS))
    said = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
    about = json.loads(said.stdout.splitlines()[-1])
    whole, scaled = about["whole"], about["scaled"]
    noise = stdev(whole) if len(whole) > 1 else 0.0
    return [
        f"{times}",
        ratio(rates[SCALED], rates[WHOLE]),
        f"{about['mean']:.2f}",
        f"{about['largest']:.0f}",
        f"{mean(whole):.3f}",
        f"{mean(scaled):.3f} (paired {median(_paired(scaled, whole)):+.3f})",
        f"{noise:.3f}",
    ]


def _paired(ours: list[float], theirs: list[float]) -> list[float]:
    return [mine - other for mine, other in zip(ours, theirs, strict=True)]
