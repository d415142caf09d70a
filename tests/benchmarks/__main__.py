"""`make benchmark`: the measurements that the README quotes, one table each.

    python -m tests.benchmarks [--runs 5] [commands] [large] [sagemaker] [vertex] [training] [steps]
                               [rendezvous] [credentials] [torchrun]
                               [data-bytes] [data-decoded] [data-scaled] [data-conversion]
                               [data-resnet] [data-memory] [data-augmentation]

The data tables make their pictures and petastorm's environment once, in the user's cache folder.
`--smoke` measures next to nothing and leaves petastorm out: it says only that the command works.

Figures depend on the machine and on what else runs there: the ratios count.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

from tests.benchmarks.data.plot import drawn
from tests.benchmarks.data.sizes import SMOKE, Sizes
from tests.benchmarks.measure import machine

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
)
DATA = {
    "data-bytes": "delivered",
    "data-decoded": "decoded",
    "data-scaled": "scaled",
    "data-conversion": "conversion",
    "data-resnet": "resnet",
    "data-memory": "memory",
    "data-augmentation": "augmentation",
}


def main() -> None:
    """Print the tables that were asked for; all of them where none was."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each (default 5)")
    parser.add_argument("--smoke", action="store_true", help="data tables: next to nothing")
    parser.add_argument(
        "--cold", action="store_true", help="data-bytes: cold, too; drops the page cache, as root"
    )
    parser.add_argument("--plot", metavar="SVG", help="data tables: write a plot of their rates")
    choices = [*TABLES, *DATA, []]
    parser.add_argument("tables", nargs="*", choices=choices, help="default: all")
    asked = parser.parse_args()
    print(f"Measured on: {machine()}")
    sizes = SMOKE if asked.smoke else Sizes(runs=asked.runs, cold=asked.cold)
    rates: dict[str, Any] = {}
    for name in asked.tables or [*TABLES, *DATA]:
        if name in DATA:
            table = importlib.import_module(f"tests.benchmarks.data.{DATA[name]}")
            rates.update(table.run(sizes) or {})
        else:
            importlib.import_module(f"tests.benchmarks.{name}").run(asked.runs)
    if asked.plot:
        Path(asked.plot).write_text(drawn(rates, machine()))


if __name__ == "__main__":
    main()
