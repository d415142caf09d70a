"""The shared training script on real ranks; each run costs about ten seconds of a small machine."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.entrypoints import horovod_ranks
from tests.entrypoints.horovod_ranks import Process, Rank
from tests.entrypoints.lib.mnist_format import write_data_set

pytestmark = [pytest.mark.horovod, pytest.mark.usefixtures("warm_ranks")]

PROGRESS = re.compile(
    r"progress: epoch \d+/\d+, step \d+/\d+, \d+ images/s, loss \d+\.\d{4}"
    r"(, accuracy \d\.\d{4}, \d+\.\d\d s)?"
)
LOAD_AGAIN = """
import json, sys
import numpy as np, tensorflow as tf
from sklearn.datasets import load_digits
model = tf.keras.models.load_model(sys.argv[1])
digits = load_digits()
order = np.random.RandomState(0).permutation(1797)[:359]
images = digits.images[order][..., np.newaxis]
print(json.dumps(model.evaluate(images, digits.target[order], verbose=0)))
"""


@dataclass(frozen=True)
class Trained:
    """A finished run of two ranks with all defaults."""

    folder: Path
    ranks: list[Rank]

    @property
    def metrics(self) -> dict[str, Any]:
        return metrics_in(self.folder / "model")


def metrics_in(folder: Path) -> dict[str, Any]:
    metrics: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
    return metrics


def folders(folder: Path) -> list[str]:
    return ["--checkpoint-dir", str(folder / "checkpoints"), "--model-dir", str(folder / "model")]


def only_complaint(ranks: Sequence[Rank], speaker: int = 0) -> str:
    """The one line on standard error of a run in which one rank said why all of them end."""
    assert [rank.exit_code for rank in ranks] == [1] * len(ranks)
    assert [rank.stderr for rank in ranks if rank is not ranks[speaker]] == [""] * (len(ranks) - 1)
    line = ranks[speaker].stderr
    assert line.startswith("train_image_classifier.py: error: ")
    assert line.count("\n") == 1
    return line


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """In interpreters of their own: what an import says, and what it has to be told, is theirs."""
    folder = tmp_path_factory.mktemp("trained")
    return Trained(folder, horovod_ranks.run(folder, folders(folder), warm=None))


def test_two_ranks_with_defaults_reach_a_test_accuracy_above_95_percent(trained: Trained) -> None:
    assert [rank.exit_code for rank in trained.ranks] == [0, 0], trained.ranks
    result = trained.ranks[0].lines("result: ")[-1]
    found = re.match(r"result: test accuracy (\d\.\d+), test loss \d", result)
    assert found is not None
    assert float(found.group(1)) > 0.95
    assert re.search(r"10 epochs, \d+\.\d s, \d+ images/s, world size 2, model in", result)
    assert trained.metrics["test_accuracy"] == pytest.approx(float(found.group(1)), abs=1e-4)


def test_rank_0_alone_speaks_in_the_launchers_grammar_without_noise(trained: Trained) -> None:
    first, second = trained.ranks
    assert (second.stdout, second.stderr, first.stderr) == ("", "", "")
    lines = first.lines("progress: ")
    assert [line for line in lines if not PROGRESS.fullmatch(line)] == []
    ends = [line for line in lines if "step 23/23" in line and ", accuracy " in line]
    assert [line.split(",")[0] for line in ends] == [
        f"progress: epoch {epoch}/10" for epoch in range(1, 11)
    ]


def test_rank_0_alone_writes_and_the_newest_checkpoints_are_kept(trained: Trained) -> None:
    names = sorted(path.name for path in (trained.folder / "checkpoints").iterdir())
    assert names == ["checkpoint-00009.npz", "checkpoint-00010.npz"]
    assert sorted(path.name for path in (trained.folder / "model").iterdir()) == [
        "metrics.json",
        "model.keras",
    ]
    about = trained.metrics
    assert (about["world_size"], about["epochs"], about["steps"]) == (2, 10, 230)
    assert len(about["history"]) == 10
    assert about["arguments"]["batch_size"] == 32


def test_the_model_loads_without_horovod_and_has_the_accuracy_that_was_told(
    trained: Trained,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD_AGAIN, str(trained.folder / "model" / "model.keras")],
        env={**horovod_ranks.clean_environment(), "TF_USE_LEGACY_KERAS": "1"},
        capture_output=True,
        text=True,
        timeout=horovod_ranks.SECONDS,
    )
    assert done.returncode == 0, done.stderr
    loss, accuracy = json.loads(done.stdout.splitlines()[-1])
    assert accuracy == pytest.approx(trained.metrics["test_accuracy"], abs=1e-6)
    assert loss == pytest.approx(trained.metrics["test_loss"], abs=1e-4)


def test_a_killed_run_goes_on_at_the_next_epoch_and_ends_where_an_uninterrupted_one_does(
    trained: Trained, tmp_path: Path
) -> None:
    def kill_one(processes: Sequence[Process], folder: Path) -> None:
        horovod_ranks.wait_for("epoch 3/10, step 23/23", folder / "rank-0.out")
        processes[1].kill()

    killed = horovod_ranks.run(tmp_path / "killed", folders(tmp_path), during=kill_one)
    assert [rank.exit_code for rank in killed] == [1, -9]
    assert "rank 0 stops: another rank has ended" in killed[0].stderr
    assert "Traceback" not in killed[0].stderr
    done = epochs_done(tmp_path / "checkpoints")
    assert 2 <= done < 10

    again = horovod_ranks.run(tmp_path / "again", folders(tmp_path))
    assert [rank.exit_code for rank in again] == [0, 0], again
    line = again[0].lines("checkpoints: found")[0]
    assert f"after epoch {done} and {done * 23} steps; going on at epoch {done + 1}/10" in line
    assert again[0].lines("progress: ")[0].startswith(f"progress: epoch {done + 1}/10")
    metrics = metrics_in(tmp_path / "model")
    assert metrics["steps"] == trained.metrics["steps"]
    assert metrics["test_loss"] == pytest.approx(trained.metrics["test_loss"], rel=1e-3)
    assert [entry["loss"] for entry in metrics["history"]] == pytest.approx(
        [entry["loss"] for entry in trained.metrics["history"]], rel=1e-3
    )


def epochs_done(folder: Path) -> int:
    return max(int(path.stem.split("-")[1]) for path in folder.glob("checkpoint-*.npz"))


def test_a_run_whose_epochs_are_all_done_trains_none_and_two_ranks_equal_one_with_their_batch(
    trained: Trained, tmp_path: Path
) -> None:
    """World size 1 goes on from the checkpoint of world size 2, then trains on its own."""
    checkpoints = trained.folder / "checkpoints"
    (done,) = horovod_ranks.run(tmp_path / "done", ["--checkpoint-dir", str(checkpoints)], size=1)
    assert done.exit_code == 0, done
    assert done.lines("checkpoints: ") == [
        "checkpoints: mind that world size is 2 there and 1 here",
        f"checkpoints: {checkpoints} has all 10 epochs; none is left to train",
    ]
    assert done.lines("progress: ") == []
    assert f"test accuracy {trained.metrics['test_accuracy']:.4f}" in done.lines("result: ")[0]

    (alone,) = horovod_ranks.run(
        tmp_path / "alone",
        ["--batch-size", "64", "--epochs", "2", "--model-dir", str(tmp_path / "model")],
        size=1,
    )
    assert alone.exit_code == 0, alone
    losses = [entry["loss"] for entry in metrics_in(tmp_path / "model")["history"]]
    of_two = [entry["loss"] for entry in trained.metrics["history"][:2]]
    assert losses == pytest.approx(of_two, rel=0.02)


def test_a_disk_that_fills_up_ends_the_run_with_one_line_and_leaves_whole_checkpoints(
    tmp_path: Path,
) -> None:
    def fill_up(processes: Sequence[Process], folder: Path) -> None:
        horovod_ranks.wait_for("epoch 2/500", folder / "rank-0.out")
        resource.prlimit(processes[0].pid, resource.RLIMIT_FSIZE, (100_000, 100_000))

    ranks = horovod_ranks.run(
        tmp_path,
        ["--epochs", "500", "--max-steps-per-epoch", "5", *folders(tmp_path)],
        during=fill_up,
    )
    line = only_complaint(ranks)
    assert "the checkpoint cannot be written: [Errno 27] File too large" in line
    done = epochs_done(tmp_path / "checkpoints")
    assert f"checkpoint-{done + 1:05d}.npz" in line
    for path in (tmp_path / "checkpoints").iterdir():
        assert path.suffix == ".npz"
        with np.load(path) as archive:
            assert all(archive[name] is not None for name in archive.files)


def test_a_folder_that_cannot_be_written_ends_all_ranks_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ranks = horovod_ranks.run(
        tmp_path / "run", environment={"LAUNCH_CHECKPOINT_DIR": str(tmp_path / "file" / "below")}
    )
    line = only_complaint(ranks)
    assert "file/below (LAUNCH_CHECKPOINT_DIR): the checkpoint folder cannot be written" in line
    assert ranks[0].stdout == ""


def test_a_damaged_checkpoint_ends_all_ranks_with_what_to_do(tmp_path: Path) -> None:
    damaged = tmp_path / "checkpoints" / "checkpoint-00002.npz"
    damaged.parent.mkdir()
    damaged.write_bytes(b"half of a checkpoint")
    ranks = horovod_ranks.run(tmp_path / "run", folders(tmp_path))
    line = only_complaint(ranks)
    assert f"{damaged}: the checkpoint is damaged" in line
    assert "Delete this file to start over" in line
    assert damaged.read_bytes() == b"half of a checkpoint"


def test_three_ranks_train_on_a_channels_files_and_write_to_an_address_with_a_scheme(
    tmp_path: Path,
) -> None:
    """Uneven shards, scaled rate, SageMaker's channel and Vertex AI's folders in one run."""
    write_data_set(tmp_path / "channel", *striped_images(100, 31))
    environment = {
        "SM_CHANNEL_TRAINING": str(tmp_path / "channel"),
        "AIP_CHECKPOINT_DIR": f"file://{tmp_path}/bucket/checkpoints/",
        "AIP_MODEL_DIR": f"file://{tmp_path}/bucket/model/",
    }
    arguments = ["--data", "fashion-mnist", "--batch-size", "8", "--epochs", "4", "--model", "mlp"]
    ranks = horovod_ranks.run(
        tmp_path / "run",
        [*arguments, "--lr-scaling", "linear", "--keep-checkpoints", "1"],
        size=3,
        environment=environment,
    )
    assert [rank.exit_code for rank in ranks] == [0, 0, 0], ranks
    assert "each of 3 ranks reads 33 an epoch in 5 steps of 8" in ranks[0].stdout
    metrics = metrics_in(tmp_path / "bucket" / "model")
    assert metrics["test_accuracy"] == 1.0
    assert metrics["steps"] == 20
    assert metrics["arguments"]["warmup_epochs"] == 3
    assert [path.name for path in (tmp_path / "bucket" / "checkpoints").iterdir()] == [
        "checkpoint-00004.npz"
    ]


def striped_images(training: int, test: int) -> Any:
    """Images of 12x12 whose class is the bright column: easy, and with labels of three classes."""
    splits = []
    for seed, count in enumerate((training, test)):
        labels = np.random.RandomState(seed).randint(0, 3, size=count)
        images = np.random.RandomState(seed).randint(0, 64, size=(count, 12, 12))
        images[np.arange(count), :, labels * 4] = 255
        splits.append((images, labels))
    return splits


def test_a_job_in_which_horovod_finds_too_few_ranks_is_refused(tmp_path: Path) -> None:
    ranks = horovod_ranks.run(tmp_path, size=1, environment={"OMPI_COMM_WORLD_SIZE": "2"})
    assert "OMPI_COMM_WORLD_SIZE says 2 ranks, but Horovod found 1" in only_complaint(ranks)


def test_an_impossible_argument_is_told_once_before_anything_is_loaded(tmp_path: Path) -> None:
    ranks = horovod_ranks.run(tmp_path, ["--epochs", "-3"], warm=None)
    assert [rank.exit_code for rank in ranks] == [2, 2]
    problem = "argument --epochs: '-3': expected a whole number, at least 1"
    assert ranks[0].stderr == f"train_image_classifier.py: error: {problem}\n"
    assert ranks[1].stderr == ""
