"""`launch local --strategy torch` beside torchrun: two ranks that share one GPU, over NCCL."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from launchers.machine.devices import visible_gpus
from tests.benchmarks import torchrun


def run(runs: int) -> None:
    """Print the table, where there is a GPU. Blocks for minutes."""
    python = torchrun.python_with_torch()
    if not visible_gpus() or not python:
        print("torchrun_gpu: not measured, this machine shows no GPU or no torch", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as name:
        torchrun.beside_torchrun(Path(name) / "cuda", python, "cuda", max(runs, 5))
