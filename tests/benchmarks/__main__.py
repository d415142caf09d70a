"""`make benchmark`: the measurements that the README quotes, one table each.

    python -m tests.benchmarks [--runs 5] [commands] [large] [sagemaker] [vertex] [training] [steps]
                               [rendezvous] [credentials] [torchrun] [torchrun_gpu] [spark]
                               [spark_failures]
                               [training-pairs] [cycles] [stragglers] [timeline]
                               [data-bytes] [data-decoded] [data-scaled] [data-conversion]
                               [data-resnet] [data-memory] [data-augmentation] [data-gpu]

The data tables make their pictures and petastorm's environment once, in the user's cache folder.
training-pairs takes an hour, longer with a large `--model`; `--rows` takes one comparison alone.
`--smoke` measures next to nothing and leaves petastorm out: it says only that the command works.

Figures depend on the machine and on what else runs there: the ratios count.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.data.plot import drawn
from tests.benchmarks.data.sizes import SMOKE, Sizes
from tests.benchmarks.measure import machine
from tests.benchmarks.speed.pairs import ROWS
from tests.benchmarks.speed.work import WORKS, Asked
from tests.places import ENTRYPOINTS

# As pytest has it: what the ranks run is imported from there.
sys.path.append(str(ENTRYPOINTS))

TABLES = (
    "commands",
    "large",
    "sagemaker",
    "vertex",
    "training",
    "steps",
    "rendezvous",
    "credentials",
    "torchrun",
    "torchrun_gpu",
    "spark",
    "spark_failures",
)
SPEED = {
    "training-pairs": "pairs",
    "cycles": "cycles",
    "stragglers": "stragglers",
    "timeline": "timeline",
}
DATA = {
    "data-bytes": "delivered",
    "data-decoded": "decoded",
    "data-scaled": "scaled",
    "data-conversion": "conversion",
    "data-resnet": "resnet",
    "data-memory": "memory",
    "data-augmentation": "augmentation",
    "data-gpu": "gpu",
}


def main() -> None:
    """Print the tables that were asked for; all of them where none was."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each (default 5)")
    parser.add_argument("--smoke", action="store_true", help="data and speed tables: little")
    parser.add_argument(
        "--cold", action="store_true", help="data-bytes: cold, too; drops the page cache, as root"
    )
    parser.add_argument("--plot", metavar="SVG", help="data tables: write a plot of their rates")
    _add_speed(parser)
    choices = [*TABLES, *SPEED, *DATA, []]
    parser.add_argument("tables", nargs="*", choices=choices, help="default: all")
    asked = parser.parse_args()
    print(f"Measured on: {machine()}")
    sizes = SMOKE if asked.smoke else Sizes(runs=asked.runs, cold=asked.cold)
    rates: dict[str, Any] = {}
    for name in asked.tables or [*TABLES, *SPEED, *DATA]:
        if name in DATA:
            table = importlib.import_module(f"tests.benchmarks.data.{DATA[name]}")
            rates.update(table.run(sizes) or {})
        elif name in SPEED:
            importlib.import_module(f"tests.benchmarks.speed.{SPEED[name]}").run(_speed(asked))
        else:
            importlib.import_module(f"tests.benchmarks.{name}").run(asked.runs)
    if asked.plot:
        Path(asked.plot).write_text(drawn(rates, machine()))


def _add_speed(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("training-pairs, cycles, stragglers and timeline")
    group.add_argument("--pairs", type=int, default=9, help="rounds that count (default 9)")
    group.add_argument("--model", choices=WORKS, default="cnn", help="default cnn, the small one")
    group.add_argument(
        "--rows", nargs="+", choices=ROWS, default=[], help="of training-pairs; default: all"
    )
    group.add_argument("--batch", type=int, default=0, help="of a rank; default the model's own")
    group.add_argument("--picture", type=Path, metavar="SVG", help="timeline: write its picture")
    group.add_argument("--read", type=Path, metavar="FILE", help="timeline: read this job's")


def _speed(asked: argparse.Namespace) -> Asked:
    return Asked(
        asked.pairs, asked.model, asked.rows, asked.read, asked.picture, asked.smoke, asked.batch
    )


if __name__ == "__main__":
    main()
