"""The shared script of MirroredStrategy: one process, logical CPU devices in the place of GPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import Launch
from tests.entrypoints import horovod_ranks
from tests.entrypoints.torch_training import write_digits
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.horovod

SCRIPT = ENTRYPOINTS / "train_mirrored.py"


def test_two_replicas_train_in_one_process_and_are_proven(
    launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "CUDA_VISIBLE_DEVICES", "0,1")
    digits = write_digits(tmp_path / "digits")
    data = ("--data", f"mnist-files:{digits}", "--model", "mlp", "--epochs", "1")
    answer = launch("local", str(SCRIPT), "--gpus", "2", "--", *data)
    assert answer.code == 0, answer.out + answer.err
    assert "tensorflow  (train_mirrored.py:" in answer.err
    assert "each of 2 ranks reads 720 an epoch in 12 steps of 64" in answer.out
    assert "world size 2: 1 host x 2 replicas, one process; gradients exchanged" in answer.out


def test_another_strategys_ranks_are_refused_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env={**horovod_ranks.clean_environment(), "LAUNCH_STRATEGY": "torch"},
        capture_output=True,
        text=True,
        timeout=horovod_ranks.SECONDS,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "train_mirrored.py: error: LAUNCH_STRATEGY is torch, and this script trains by --strategy "
        "tensorflow\n"
    )
