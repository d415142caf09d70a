"""`make benchmark`: the measurements that the README quotes, one table each.

    python -m tests.benchmarks [--runs 5] [commands] [large] [sagemaker] [vertex] [training] [steps]
                               [rendezvous] [credentials] [torchrun]

Figures depend on the machine and on what else runs there: the ratios count.
"""

from __future__ import annotations

import argparse
import importlib

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


def main() -> None:
    """Print the tables that were asked for; all of them where none was."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each (default 5)")
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], help="default: all")
    asked = parser.parse_args()
    print(f"Measured on: {machine()}")
    for name in asked.tables or TABLES:
        importlib.import_module(f"tests.benchmarks.{name}").run(asked.runs)


if __name__ == "__main__":
    main()
