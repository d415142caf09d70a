"""data-memory: the most memory of a rank's reader while the data grows: one file of row groups,
linked under as many names as make that much."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.benchmarks.data.sizes import Sizes
from tests.benchmarks.loader_memory import PICTURE_BYTES, read_in_a_process, write_linked
from tests.benchmarks.measure import print_table

_ROWS_OF_A_FILE = 1024
AHEAD_MEBIBYTES = 256


def run(sizes: Sizes) -> None:
    """Print the table. Blocks for minutes: all of it is read."""
    rows = []
    for stream in sizes.streams:
        with tempfile.TemporaryDirectory(prefix="launch-data-") as name:
            copies = max(1, round(stream / (_ROWS_OF_A_FILE * PICTURE_BYTES)))
            stored = write_linked(Path(name, "place"), copies)
            found = read_in_a_process(Path(name, "place"), AHEAD_MEBIBYTES, tensorflow=True)
        rows.append(
            [
                f"{stored / 1e9:,.1f}",
                f"{found['rows']:,.0f}",
                f"{found['mebibytes']:,.0f}",
                f"{found['mebibytes'] - found['mebibytes_before']:,.0f}",
                f"{stored / 1e9 / found['seconds']:.2f}",
            ]
        )
    print_table(
        f"One rank reads an epoch through tf.data, --read-ahead {AHEAD_MEBIBYTES} MiB, once each",
        ["GB read", "pictures", "peak, MiB", "of it above TensorFlow alone", "GB/s"],
        rows,
    )
