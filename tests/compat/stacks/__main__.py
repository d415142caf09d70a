"""`make compat-stacks`: the shared training script on the TensorFlow releases of older images.

python -m tests.compat.stacks [VERSION ...] [--python VERSION=PYTHON ...] [--docs]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import yaml

from tests.benchmarks.measure import quiet_environment
from tests.compat.jobs import Outcome, launched
from tests.compat.stacks import table
from tests.compat.stacks.environments import NotThereError, Stack, python_of
from tests.places import ENTRYPOINTS, ROOT

STACKS = Path(__file__).with_name("stacks.yaml")
_MAX_RUNTIME = "600s"


def main() -> int:
    """Print the table; 0 when all that ran succeeded."""
    asked = _arguments()
    pythons = dict(pair.split("=", 1) for pair in asked.python)
    document = yaml.safe_load(STACKS.read_text())
    rows: list[table.Row] = []
    for entry in document["stacks"]:
        stack = Stack(entry["tensorflow"], entry["python"], tuple(entry["requirements"]))
        if asked.versions and stack.tensorflow not in asked.versions:
            continue
        for name, arguments in document["arguments"].items():
            rows.append(_one(stack, name, arguments, pythons.get(stack.tensorflow)))
            print(rows[-1].line(), file=sys.stderr, flush=True)
    print(table.text(rows))
    if asked.docs:
        table.write(table.text(rows))
    return 1 if any(row.state not in ("succeeded", table.NOT_RUN) for row in rows) else 0


def _one(stack: Stack, name: str, arguments: list[str], python: str | None) -> table.Row:
    try:
        outcome = run(python or str(python_of(stack)), arguments)
    except NotThereError as reason:
        return table.Row(stack.tensorflow, stack.python, name, table.NOT_RUN, str(reason))
    return table.Row(stack.tensorflow, stack.python, name, outcome.state, outcome.words)


def run(python: str, arguments: list[str]) -> Outcome:
    """The script on two hosts of one rank. Blocks until the job has ended."""
    command = [sys.executable, "-m", "launchers.cli.main", "local", "--no-file", "--json"]
    command += ["--instances", "2", "--processes", "1", "--max-runtime", _MAX_RUNTIME]
    command += ["--source", str(ENTRYPOINTS), "train_image_classifier.py", "--python", python]
    with tempfile.TemporaryDirectory() as folder:
        environment = quiet_environment(
            LAUNCH_HOME=f"{folder}/home", PYTHONPATH=str(ROOT), HOME=folder
        )
        return launched([*command, "--", *arguments], Path(folder), environment)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.compat.stacks")
    parser.add_argument("versions", nargs="*", help="of TensorFlow; default: all")
    parser.add_argument(
        "--python", action="append", default=[], help="VERSION=PYTHON: this one for that TensorFlow"
    )
    parser.add_argument("--docs", action="store_true", help="write the table into the docs' page")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
