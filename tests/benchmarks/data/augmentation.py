"""data-augmentation: augmented pictures (crop, flip, rotate, color) made by Dask's workers on the
same machine, beside augmenting in the rank; alone, and while the rank trains on one core."""

from __future__ import annotations

import subprocess
import sys

from tests.benchmarks.data.making import made
from tests.benchmarks.data.racing import Rate, Reader, Way, print_race, race
from tests.benchmarks.data.sizes import SMALL, Sizes
from tests.benchmarks.measure import quiet_environment
from tests.places import ENTRYPOINTS

BY_DASK, IN_RANK = "by Dask's workers", "in the rank"
# A cluster of as many one-thread workers as argv says, until stdin ends.
_CLUSTER = """
import sys
from lib.data.dask_cluster import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(int(sys.argv[1]))
    print(cluster.address, flush=True)
    sys.stdin.read()
    cluster.close()
"""


def run(sizes: Sizes) -> dict[str, dict[str, list[Rate]]]:
    """Print both tables."""
    found = {}
    side = 32 if sizes.pictures <= SMALL else 128
    with (
        made(sizes, sizes.pictures) as places,
        subprocess.Popen(
            [sys.executable, "-c", _CLUSTER, str(sizes.workers)],
            env=quiet_environment(PYTHONPATH=str(ENTRYPOINTS)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as cluster,
    ):
        assert cluster.stdout
        assert cluster.stdin
        address = cluster.stdout.readline().strip()
        for what, more in (("alone", ()), ("while the rank trains on one core", ("--train",))):
            words = (str(places.train), "--side", str(side), "--batch", "32", *more)
            readers = [
                Reader(BY_DASK, "from_augmenting.py", (*words, "--scheduler", address)),
                Reader(IN_RANK, "from_augmenting.py", words),
            ]
            rates = race(readers, sizes.runs, Way(1, sizes.pictures // 10, 2 * sizes.seconds))
            found[f"augmented, {what}"] = rates
            print_race(
                f"Augmented pictures of {side} x {side}, {what}, {sizes.workers} Dask workers on "
                f"the same machine, medians of {sizes.runs} rounds in turn",
                rates,
            )
        cluster.stdin.close()
    return found
