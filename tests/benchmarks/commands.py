"""CPU seconds of whole commands: help and dry runs, beside those of peers."""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.benchmarks.measure import (
    cost_of,
    interleaved,
    peer,
    print_costs,
    quiet_environment,
)
from tests.places import ROOT

BUDGETS = {
    "launch --help": "0.08",
    "launch local --dry-run": "",
    "launch sagemaker --dry-run": "0.20",
    "launch vertex --dry-run": "0.20",
    "launch spark --dry-run": "0.20",
}
SPARK = ("--master", "spark://127.0.0.1:7077", "--instances", "2")
_TORCHX = "torchx==0.7.0"


def run(runs: int) -> None:
    """Print the table."""
    torchx = peer("torchx", _TORCHX)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _project(folder)
        environment = quiet_environment(LAUNCH_HOME=str(folder / "home"), PYTHONPATH=str(ROOT))
        ours = [sys.executable, "-m", "launchers.cli.main"]
        script = ["src/train.py", "--source", "src"]
        shape = ["--instances", "2", "--gpus", "4"]
        commands = {
            "launch --help": [*ours, "--help"],
            "TorchX --help": [str(torchx), "-m", "torchx.cli.main", "--help"],
            "launch local --dry-run": [*ours, "local", *script, "--instances", "2", "--dry-run"],
            "launch sagemaker --dry-run": [*ours, "sagemaker", *script, *shape, "--dry-run"],
            "launch vertex --dry-run": [*ours, "vertex", *script, *shape, "--dry-run"],
            "launch spark --dry-run": [*ours, "spark", *script, *SPARK, "--dry-run"],
            "TorchX dry run of an echo": [
                str(torchx),
                "-m",
                "torchx.cli.main",
                "run",
                "--dryrun",
                "-s",
                "local_cwd",
                "utils.echo",
                "--msg",
                "hello",
            ],
        }
        plain = quiet_environment(HOME=str(folder))
        measures = {
            label: partial(cost_of, command, folder, environment if "launch" in label else plain)
            for label, command in commands.items()
        }
        costs = interleaved(measures, runs)
    title = f"Whole commands, median of {runs} runs; a source of 100 files and 1 MB"
    print_costs(title, costs, BUDGETS)


def _project(folder: Path) -> None:
    """A source of 100 Python files, 1 MB together, in src/."""
    (folder / "src").mkdir()
    (folder / "src" / "train.py").write_text("import horovod.tensorflow as hvd\nhvd.init()\n")
    line = "value = [1, 2, 3]  # a line of an ordinary module\n"
    for number in range(99):
        (folder / "src" / f"module_{number}.py").write_text(line * (10_000 // len(line)))
