"""The most memory that a reader of a place takes, for any amount of data.

    python -m tests.benchmarks.loader_memory --gigabytes 100 --ahead-mebibytes 256

writes one file of row groups of random bytes, links it under as many names as make that much data,
and reads all of it in a process of its own, through Python alone or through tf.data
(``--tensorflow``). It prints rows, bytes, seconds and that process's largest resident size.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE_BYTES = 15_000


def write_linked(folder: Path, copies: int, rows: int = 1024, group: int = 256) -> int:
    """A folder of ``copies`` links to one Parquet file; gives the bytes of their content."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.RandomState(0)
    content = pa.array([random.bytes(PICTURE_BYTES) for _ in range(rows)], pa.binary())
    table = pa.table({"label": pa.array([row % 10 for row in range(rows)]), "content": content})
    folder.mkdir(parents=True)
    first = folder / "part-00000.parquet"
    pq.write_table(table, first, row_group_size=group, compression="none", use_dictionary=False)
    for number in range(1, copies):
        os.link(first, folder / f"part-{number:05d}.parquet")
    return copies * rows * PICTURE_BYTES


def read_in_a_process(folder: Path, ahead_mebibytes: int, tensorflow: bool) -> dict[str, float]:
    """What a process that reads an epoch of ``folder`` says of itself; blocks until it ends."""
    command = [sys.executable, __file__, "--read", str(folder)]
    command += ["--ahead-mebibytes", str(ahead_mebibytes), *(["--tensorflow"] * tensorflow)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def read(folder: str, ahead_mebibytes: int, tensorflow: bool) -> dict[str, float]:
    """Reads an epoch in this process: rows, seconds, MiB that it has taken at most and before."""
    sys.path.insert(0, str(ROOT / "entrypoints"))
    from lib.data.division import Division
    from lib.data.parquet_place import open_place
    from lib.data.reader import PictureReader

    if tensorflow:
        from lib.data.tensorflow import encoded_batches
    before = most_mebibytes()
    begun = time.monotonic()
    pictures = open_place(folder)
    reader = PictureReader(pictures, Division(), ahead_bytes=ahead_mebibytes << 20)
    if tensorflow:
        rows = sum(int(labels.shape[0]) for _, labels in encoded_batches(reader, epochs=1))
    else:
        rows = sum(len(batch.labels) for batch in reader.batches(epochs=1))
    return {
        "rows": rows,
        "seconds": time.monotonic() - begun,
        "mebibytes": most_mebibytes(),
        "mebibytes_before": before,
    }


def most_mebibytes() -> float:
    """The largest resident size of this process (ru_maxrss may be its parent's)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    """Measures, or reads as the process that is measured."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--gigabytes", type=float, default=100)
    arguments.add_argument("--ahead-mebibytes", type=int, default=256)
    arguments.add_argument("--tensorflow", action="store_true")
    arguments.add_argument("--read", metavar="FOLDER", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.read:
        print(json.dumps(read(given.read, given.ahead_mebibytes, given.tensorflow)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        copies = max(1, round(given.gigabytes * 1e9 / (1024 * PICTURE_BYTES)))
        size = write_linked(Path(scratch) / "place", copies)
        found = read_in_a_process(Path(scratch) / "place", given.ahead_mebibytes, given.tensorflow)
        print(json.dumps({"bytes": size, **found}))


if __name__ == "__main__":
    main()
