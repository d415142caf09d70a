"""data-decoded: 224 x 224 float32 pictures, beside petastorm with rows decoded one by one in Python
(a TransformSpec), petastorm decoded by tf.data, files, and the same bytes from memory."""

from __future__ import annotations

from tests.benchmarks.data.delivered import OURS
from tests.benchmarks.data.making import Made, made, petastorm
from tests.benchmarks.data.racing import Rate, Reader, Way, print_race, race
from tests.benchmarks.data.sizes import Sizes

DECODED = ("--decode", "graph")


def run(sizes: Sizes) -> dict[str, dict[str, list[Rate]]]:
    """Print a table for one and one for two shards."""
    found = {}
    with made(sizes, sizes.pictures) as places:
        for shards in (1, 2):
            way = Way(shards, sizes.pictures // 4, sizes.seconds)
            rates = race(_readers(sizes, places), sizes.runs, way)
            found[f"decoded, {shards} shard{'s'[: shards - 1]}"] = rates
            print_race(
                f"Decoded to 224 x 224 float32, {shards} at once (a process each), "
                f"medians of {sizes.runs} rounds in turn",
                rates,
            )
    return found


def _readers(sizes: Sizes, places: Made) -> list[Reader]:
    train = str(places.train)
    readers = [
        Reader(OURS, "from_launch.py", (train, *DECODED)),
        Reader("from memory", "from_memory.py", (train, *DECODED)),
        Reader("JPEG files through tf.data", "from_files.py", (str(places.images), *DECODED)),
    ]
    if sizes.peers:
        python = petastorm()
        graph = (train, *DECODED, "--workers", "2")
        spec = (train, "--decode", "spec")
        readers += [
            Reader("petastorm, decoded by tf.data", "from_petastorm.py", graph, python),
            Reader("petastorm, TransformSpec row by row", "from_petastorm.py", spec, python),
        ]
    return readers
