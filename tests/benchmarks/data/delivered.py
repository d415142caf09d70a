"""data-bytes: encoded pictures delivered to a tf.data consumer, shuffled, in batches of 64; nothing
is decoded. Beside petastorm's make_batch_reader as it is and at its best, files, and memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.benchmarks.data.making import Made, made, petastorm
from tests.benchmarks.data.racing import Rate, Reader, Way, measured, print_race, race
from tests.benchmarks.data.sizes import Sizes

OURS = "launch"
# workers, and how its batches of row groups become batches of 64: see readers/from_petastorm.py
SETTINGS = [(workers, way) for workers in (1, 2, 3, 10) for way in ("rows", "groups")]


def run(sizes: Sizes) -> dict[str, dict[str, list[Rate]]]:
    """Print the tables, warm for one and two shards, and cold where that is allowed."""
    found = {}
    with made(sizes, sizes.pictures) as places:
        for shards in (1, 2):
            way = Way(shards, sizes.pictures, sizes.seconds)
            rates = race(_readers(sizes, places, way), sizes.runs, way)
            found[f"bytes, {shards} shard{'s'[: shards - 1]}"] = rates
            print_race(_title(sizes, places, f"in memory, {shards} at once"), rates)
        if sizes.cold:
            way = Way(1, cold=sizes.pictures)
            rates = race(_readers(sizes, places, way), sizes.runs, way)
            print_race(_title(sizes, places, "page cache dropped, one epoch with opening"), rates)
    if not sizes.cold:
        print("\nNot measured cold: --cold drops the page cache of this machine, as root.")
    return found


def _title(sizes: Sizes, places: Made, how: str) -> str:
    stored = sum(file.stat().st_size for file in places.train.iterdir()) / sizes.pictures / 1000
    return (
        f"Encoded pictures of {stored:.0f} KB delivered, {how} (a process each), "
        f"medians of {sizes.runs} rounds in turn"
    )


def _readers(sizes: Sizes, places: Made, way: Way) -> list[Reader]:
    train = str(places.train)
    readers = [Reader(OURS, "from_launch.py", (train,))]
    if sizes.peers:
        python = petastorm()
        default = ("--workers", "10", "--consumer", "rows")
        readers += [
            Reader(
                "petastorm, 10 workers (default)", "from_petastorm.py", (train, *default), python
            ),
            best_setting(train, python, way),
        ]
    readers += [
        Reader("JPEG files through tf.data", "from_files.py", (str(places.images),)),
        Reader("from memory", "from_memory.py", (train,)),
    ]
    return readers


def best_setting(train: str, python: str, way: Way, extra: Sequence[str] = ()) -> Reader:
    """petastorm with those of SETTINGS that are fastest here: two runs each, the better counts."""
    rates = {}
    for workers, consumer in SETTINGS:
        words = (train, "--workers", str(workers), "--consumer", consumer, *extra)
        reader = Reader(
            f"petastorm, best ({workers} workers, {consumer})", "from_petastorm.py", words, python
        )
        rates[reader] = max(measured(reader, way).rows for _ in range(2))
        print(f"tried: {reader.title}: {rates[reader]:,.0f}", file=sys.stderr)
    return max(rates, key=lambda reader: rates[reader])
