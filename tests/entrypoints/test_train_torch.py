"""The shared script of PyTorch on real ranks of torch.distributed."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Launch
from tests.entrypoints import torch_training
from tests.entrypoints.horovod_ranks import Rank
from tests.entrypoints.strategies.torch_ranks import PYTHON, environment, need_torch
from tests.entrypoints.torch_training import SCRIPT, run, write_digits
from tests.waiting import until

pytestmark = pytest.mark.processes

# Where NCCL takes what is on a GPU alone, and here no GPU is: what goes to it is marked.
BY_NCCL = """
import sys, types, torch
sys.path.insert(0, sys.argv[1])
from lib.pytorch import distributed_ranks
def broadcast(tensor, src):
    assert tensor.on_gpu and src == 0
    tensor.fill_(7)
def cuda(tensor):
    there = tensor.clone()
    there.on_gpu = True
    return there
torch.Tensor.cuda = cuda
distributed_ranks.dist = types.SimpleNamespace(get_backend=lambda: "nccl", broadcast=broadcast)
steps, weight = torch.tensor(0.0), torch.nn.Parameter(torch.zeros(2, 2))
distributed_ranks.DistributedRanks.same_tensors(None, [steps, weight])
print(steps.tolist(), weight.tolist())
"""
EPOCHS, STEPS = 12, 23  # 1,440 images on 2 ranks in batches of 32
LOAD_AGAIN = """
import sys, torch
sys.path.insert(0, sys.argv[3])
from lib.data.mnist_files import find, read_split
files = find(sys.argv[2])
images, labels = read_split(files["t10k-images"], files["t10k-labels"])
model = torch.jit.load(sys.argv[1])
found = model(torch.from_numpy(images).permute(0, 3, 1, 2))
assert torch.allclose(found.sum(dim=1), torch.ones(len(labels)), atol=1e-5)
print(float((found.argmax(dim=1).numpy() == labels).mean()))
"""


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_torch()
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


@pytest.fixture(scope="module")
def trained(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Rank]]:
    folder = tmp_path_factory.mktemp("trained")
    return folder, run(folder, flags(digits, folder))


def test_two_ranks_train_and_leave_what_the_script_of_keras_leaves(
    trained: tuple[Path, list[Rank]], digits: Path
) -> None:
    folder, (first, second) = trained
    assert [first.exit_code, second.exit_code] == [0, 0], trained
    assert (second.stdout, second.stderr, first.stderr) == ("", "", "")
    assert f"each of 2 ranks reads 720 an epoch in {STEPS} steps of 32" in first.stdout
    (result,) = first.lines("result: ")
    metrics = metrics_in(folder)
    assert metrics["test_accuracy"] > 0.9
    assert result.startswith(f"result: test accuracy {metrics['test_accuracy']:.4f}, test loss ")
    assert (metrics["world_size"], metrics["steps"]) == (2, EPOCHS * STEPS)
    assert re.match(r"\d+\.\d+", metrics["pytorch"])
    assert metrics["history"][-1]["validation_accuracy"] == metrics["test_accuracy"]
    ends = [line for line in first.lines("progress: ") if ", accuracy " in line]
    assert [line.split(",")[0] for line in ends] == [
        f"progress: epoch {epoch}/{EPOCHS}" for epoch in range(1, EPOCHS + 1)
    ]
    model = [str(folder / "model" / "model.pt"), str(digits), str(SCRIPT.parent)]
    done = subprocess.run(
        [str(PYTHON), "-c", LOAD_AGAIN, *model],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=torch_training.SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(metrics["test_accuracy"])


def test_killed_at_some_step_a_run_goes_on_there_and_ends_where_an_undisturbed_one_does(
    trained: tuple[Path, list[Rank]], digits: Path, tmp_path: Path
) -> None:
    name = f"checkpoint-00001-step-{5 * random.randint(1, 4):07d}.npz"

    def kill(processes: list[subprocess.Popen[bytes]], folder: Path) -> None:
        until(lambda: (tmp_path / "checkpoints" / name).exists() or processes[0].poll() is not None)
        processes[1].kill()

    killed = run(tmp_path / "killed", [*flags(digits, tmp_path), "--keep-checkpoints", "99"],
                 during=kill)  # fmt: skip
    assert killed[1].exit_code == -9
    assert killed[0].exit_code == 1, killed
    assert "rank 0 stops: another rank has ended in the middle of training" in killed[0].stderr
    again = run(tmp_path / "again", flags(digits, tmp_path))
    assert [rank.exit_code for rank in again] == [0, 0], again
    assert "; going on at epoch " in again[0].lines("checkpoints: found")[0]
    ours, theirs = metrics_in(tmp_path), metrics_in(trained[0])
    assert ours["steps"] == theirs["steps"]
    assert ours["test_loss"] == pytest.approx(theirs["test_loss"], rel=1e-3)


def test_a_second_run_in_the_same_folder_ends_before_it_touches_anything(
    digits: Path, tmp_path: Path
) -> None:
    kept, seconds = tmp_path / "checkpoints", []
    arguments = [*flags(digits, tmp_path), "--epochs", "5000"]

    def start_another(processes: list[subprocess.Popen[bytes]], folder: Path) -> None:
        until(lambda: any(kept.glob("*.npz")) or processes[0].poll() is not None)
        seconds.extend(run(tmp_path / "second", arguments))
        processes[1].terminate()

    first = run(tmp_path / "first", arguments, during=start_another, LAUNCH_JOB="digits-1")
    told = f"error: {kept} (--checkpoint-dir): another run writes its checkpoints there: digits-1"
    assert [rank.exit_code for rank in seconds] == [1, 1]
    assert told in seconds[0].stderr
    assert seconds[1].stderr == ""
    assert [rank.exit_code for rank in first] == [143, 143], first
    assert {path.suffix for path in kept.iterdir()} == {".npz"}


def test_the_launcher_starts_it_and_proves_that_gradients_were_exchanged(
    launch: Launch, digits: Path
) -> None:
    data = ("--data", f"mnist-files:{digits}", "--model", "mlp", "--epochs", "1")
    answer = launch("local", str(SCRIPT), "--python", str(PYTHON), "--instances", "2", "--", *data)
    assert answer.code == 0, answer.err
    assert "so --strategy horovod goes as well" in answer.err
    assert "gradients exchanged, weights equal" in answer.out


def test_ranks_begin_with_the_weights_that_rank_0_reads_and_leave_frozen_ones_alone(
    trained: tuple[Path, list[Rank]], digits: Path, tmp_path: Path
) -> None:
    save = "import sys, torch; torch.save(torch.jit.load(sys.argv[1]).state_dict(), sys.argv[2])"
    files = [str(trained[0] / "model" / "model.pt"), str(tmp_path / "weights.pt")]
    subprocess.run([str(PYTHON), "-c", save, *files], env=environment(), check=True)
    more = ["--weights", files[1], "--freeze", "body", "--epochs", "1"]
    first, second = run(tmp_path / "tuned", [*flags(digits, tmp_path), *more])
    assert [first.exit_code, second.exit_code] == [0, 0], (first, second)
    assert first.lines("weights: ") == [f"weights: --model mlp from {files[1]}, its head too"]
    assert (second.stdout, second.stderr, first.stderr) == ("", "", "")
    # Fresh weights reach 0.8 in an epoch.
    assert metrics_in(tmp_path)["test_accuracy"] == pytest.approx(
        metrics_in(trained[0])["test_accuracy"], abs=0.02
    )
    (other,) = run(tmp_path / "other", flags(digits, tmp_path), size=1)
    assert other.exit_code == 1
    assert "frozen" in other.stderr


def test_what_this_script_does_not_do_is_one_line(digits: Path, tmp_path: Path) -> None:
    (alone,) = run(tmp_path, [*flags(digits, tmp_path), "--augment", "crop"], size=1)
    assert alone.exit_code == 1
    assert alone.stderr.startswith("train_torch.py: error: --augment crop: ")
    assert alone.stderr.count("\n") == 1


def test_layers_compute_in_16_bits_and_weights_stay_in_32(
    trained: tuple[Path, list[Rank]], digits: Path, tmp_path: Path
) -> None:
    half = [*flags(digits, tmp_path), "--precision", "bfloat16"]
    first, second = run(tmp_path, half)
    assert [first.exit_code, second.exit_code] == [0, 0], (first, second)
    assert first.lines("precision: ") == [
        "precision: layers compute in bfloat16, weights are float32"
    ]
    assert (second.stdout, second.stderr, first.stderr) == ("", "", "")
    found, exact = metrics_in(tmp_path), metrics_in(trained[0])
    assert found["test_accuracy"] == pytest.approx(exact["test_accuracy"], abs=0.02)
    assert found["test_loss"] != exact["test_loss"]
    # What goes on in 32 bits reads the same weights.
    go_on = ["--epochs", str(EPOCHS + 1), "--precision", "float32"]
    first, second = run(tmp_path, [*half, *go_on])
    assert [first.exit_code, second.exit_code] == [0, 0], (first, second)
    assert "--precision is bfloat16 there and float32 here" in first.stdout


def test_a_precision_that_the_cpu_has_not_is_one_line(digits: Path, tmp_path: Path) -> None:
    first, second = run(tmp_path, [*flags(digits, tmp_path), "--precision", "float16"])
    assert [first.exit_code, second.exit_code] == [1, 1], (first, second)
    assert first.stderr.startswith("train_torch.py: error: --precision float16: rank 0 has no GPU")
    assert (first.stderr.count("\n"), second.stderr) == (1, "")


def test_values_on_the_cpu_go_by_way_of_the_gpu_where_nccl_carries_them() -> None:
    need_torch()
    done = subprocess.run(
        [str(PYTHON), "-c", BY_NCCL, str(SCRIPT.parent)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=torch_training.SECONDS,
    )
    assert done.stdout == "7.0 [[7.0, 7.0], [7.0, 7.0]]\n", done.stderr
