"""The shared script of Lightning on real ranks: a released Lightning on Debian's PyTorch."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Launch
from tests.entrypoints.strategies.torch_ranks import PYTHON, need_torch
from tests.entrypoints.torch_training import run, write_digits
from tests.places import ENTRYPOINTS, ROOT
from tests.sagemaker import released
from tests.waiting import until

pytestmark = [pytest.mark.pip_network, pytest.mark.processes]

SCRIPT = ENTRYPOINTS / "train_lightning.py"
EPOCHS, STEPS = 9, 23  # 1,440 images on 2 ranks in batches of 32
MENDED = Path(__file__).with_name("torch_of_debian")
# Without their dependencies: torch alone would bring 5 GB of CUDA.
PACKAGES = (
    *("lightning==2.2.5", "torchmetrics==1.4.3", "lightning-utilities==0.11.9"),
    *("fsspec==2024.10.0", "tqdm==4.67.1", "packaging==24.2"),
)


@pytest.fixture(scope="module")
def path() -> str:
    """PYTHONPATH with Lightning."""
    need_torch()
    packages = released.installed(*PACKAGES, dependencies=False, python=PYTHON)
    return os.pathsep.join([str(packages), str(MENDED)])


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_digits(tmp_path_factory.mktemp("digits"))


def flags(digits: Path, folder: Path) -> list[str]:
    return [
        *("--data", f"mnist-files:{digits}", "--model", "mlp", "--batch-size", "32"),
        *("--epochs", str(EPOCHS), "--lr", "0.005", "--checkpoint-steps", "5", "--validate"),
        *("--checkpoint-dir", str(folder / "checkpoints"), "--model-dir", str(folder / "model")),
    ]


def metrics_in(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "model" / "metrics.json").read_text())
    return found


def test_told_to_stop_all_ranks_do_and_a_run_that_goes_on_ends_where_train_torch_does(
    path: str, digits: Path, tmp_path: Path
) -> None:
    """Lightning's own answer to SIGTERM is to end the one rank that got it."""
    torch = tmp_path / "torch"
    assert [rank.exit_code for rank in run(torch, flags(digits, torch))] == [0, 0]

    name = f"checkpoint-00001-step-{5 * random.randint(1, 4):07d}.npz"

    def stop(processes: list[subprocess.Popen[bytes]], folder: Path) -> None:
        until(lambda: (tmp_path / "checkpoints" / name).exists() or processes[0].poll() is not None)
        processes[1].send_signal(signal.SIGTERM)

    stopped = run(tmp_path / "stopped", [*flags(digits, tmp_path), "--keep-checkpoints", "99"],
                  script=SCRIPT, during=stop, PYTHONPATH=path)  # fmt: skip
    assert [rank.exit_code for rank in stopped] == [143, 143], stopped
    assert stopped[1].stderr == ""
    assert stopped[0].stderr.startswith("train_lightning.py: stopped: SIGTERM on rank 1; the check")
    first, second = run(tmp_path / "again", flags(digits, tmp_path), script=SCRIPT, PYTHONPATH=path)
    assert [first.exit_code, second.exit_code] == [0, 0], (first, second)
    assert (first.stderr, second.stdout, second.stderr) == ("", "", "")
    assert "; going on at epoch " in first.lines("checkpoints: found")[0]
    ours, theirs = metrics_in(tmp_path), metrics_in(torch)
    assert (ours["steps"], ours["world_size"]) == (EPOCHS * STEPS, 2)
    assert ours["test_loss"] == pytest.approx(theirs["test_loss"], rel=1e-3)
    last, of_torch = ours["history"][-1], theirs["history"][-1]
    assert last["loss"] == pytest.approx(of_torch["loss"], rel=1e-3)
    assert ours["training_seconds"] > 0
    assert len(ours["history"]) == EPOCHS
    # Where all epochs are there no step is taken; checkpoints of the one script serve the other.
    (alone,) = run(tmp_path / "whole", flags(digits, torch), size=1, script=SCRIPT, PYTHONPATH=path)
    assert alone.exit_code == 0, alone
    assert f"has all {EPOCHS} epochs; none is left to train" in alone.stdout


def test_the_launcher_starts_it_and_proves_that_gradients_were_exchanged(
    launch: Launch, path: str, digits: Path
) -> None:
    data = ("--data", f"mnist-files:{digits}", "--model", "mlp", "--epochs", "1")
    words = ("--python", str(PYTHON), "--instances", "2", "--", *data)
    answer = launch("local", str(SCRIPT), *words, PYTHONPATH=os.pathsep.join([str(ROOT), path]))
    assert answer.code == 0, answer.err
    assert "horovod" not in answer.err
    assert "gradients exchanged, weights equal" in answer.out


@pytest.mark.parametrize(
    ("strategy", "installed", "words"),
    [
        ("horovod", True, "these ranks were started for Horovod, and this"),
        ("", False, "Lightning cannot be used in /usr/bin/python3: No module named"),
    ],
    ids=("horovod", "missing"),
)
def test_what_it_cannot_train_with_is_one_line(
    path: str, digits: Path, tmp_path: Path, strategy: str, installed: bool, words: str
) -> None:
    (alone,) = run(
        *(tmp_path, flags(digits, tmp_path)),
        size=1,
        script=SCRIPT,
        LAUNCH_STRATEGY=strategy,
        HOROVOD_SIZE="2",
        PYTHONPATH=path if installed else "",
    )
    assert (alone.exit_code, alone.stderr.count("\n")) == (1, 1), alone
    assert alone.stderr.startswith(f"train_lightning.py: error: {words}")
