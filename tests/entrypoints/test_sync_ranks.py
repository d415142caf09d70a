"""The scripts' ways to keep one model on all ranks, on real ranks; each run costs some seconds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Launch
from tests.entrypoints import horovod_ranks
from tests.entrypoints.horovod_ranks import IMAGE_CLASSIFIER as FIT
from tests.places import ENTRYPOINTS

pytestmark = [pytest.mark.horovod, pytest.mark.usefixtures("warm_ranks")]

LOOP = ENTRYPOINTS / "train_custom_loop.py"
SHORT = ("--optimizer", "sgd", "--max-steps-per-epoch", "6")
ROUNDING = 1e-4  # relative, of losses: two ways to add the same numbers up

MEANS = f"""
import sys
sys.path.insert(0, {str(ENTRYPOINTS)!r})
from lib import arguments
from lib.tensorflow import stack
stack.import_quietly()
import numpy as np
import tensorflow as tf
from lib.tensorflow import models
from lib.tensorflow.learner import KerasLearner
from lib.tensorflow.ranks import HorovodRanks

ranks = HorovodRanks()
model = tf.keras.Sequential([
    tf.keras.layers.Dense(5, input_shape=(3,)), tf.keras.layers.BatchNormalization()])
optimizer = models.optimizer("adam", 0.1)
models.create_optimizer_state(optimizer, model.trainable_variables)
draw = np.random.RandomState(ranks.rank)
learner = KerasLearner(model, optimizer, ranks, arguments.parse(["--sync", "average:4"]))
def all_arrays():
    return [*learner.weights(), *learner.optimizer_state()]
own = [draw.rand(*array.shape).astype("f") if array.dtype == "f" else array
       for array in all_arrays()]
learner.fill(own[:len(model.weights)], own[len(model.weights):])
learner.settle()
means = [np.mean(arrays, axis=0, dtype="f") for arrays in zip(*ranks.gather(own))]
assert all(np.array_equal(*pair) for pair in zip(all_arrays(), means)), ranks.rank
print("arrays", len(means), flush=True)
"""


def trained(folder: Path, *words: str, script: Path = FIT, start: Path | None = None) -> Any:
    """metrics.json of two ranks' run, perhaps from a checkpoint."""
    places = ["--model-dir", str(folder / "model"), "--checkpoint-dir", str(folder / "kept")]
    if start is not None:
        (folder / "kept").mkdir(parents=True)
        shutil.copy(start, folder / "kept")
    ranks = horovod_ranks.run(folder, [*words, *places], script=script)
    assert [rank.exit_code for rank in ranks] == [0, 0], ranks
    return json.loads((folder / "model" / "metrics.json").read_text())


def losses(metrics: Any) -> list[float]:
    return [*(epoch["loss"] for epoch in metrics["history"]), metrics["test_loss"]]


@pytest.fixture(scope="module")
def by_fit(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Two epochs of Keras fit, gradients averaged at every step: folder and metrics."""
    folder = tmp_path_factory.mktemp("fit")
    return folder, trained(folder, *SHORT, "--epochs", "2")


def test_an_average_is_the_mean_of_all_ranks_weights_and_optimizer_state(tmp_path: Path) -> None:
    script = tmp_path / "means.py"
    script.write_text(MEANS)
    ranks = horovod_ranks.run(tmp_path, script=script)
    # Kernel and bias, scale and offset, two moving statistics; Adam's count and two moments each.
    assert [rank.lines("arrays") for rank in ranks] == [["arrays 15"]] * 2, ranks


def test_the_loop_goes_on_from_a_checkpoint_of_fit_and_ends_with_the_same_loss(
    by_fit: tuple[Path, Any], tmp_path: Path
) -> None:
    folder, expected = by_fit
    start = folder / "kept" / "checkpoint-00001.npz"
    found = trained(tmp_path, *SHORT, "--epochs", "2", script=LOOP, start=start)
    assert losses(found) == pytest.approx(losses(expected), rel=ROUNDING)
    assert found["steps"] == expected["steps"] == 12


def test_parameters_averaged_after_every_step_are_averaged_gradients_and_the_job_is_proven(
    by_fit: tuple[Path, Any], tmp_path: Path, launch: Launch
) -> None:
    answer = launch(
        "local", str(FIT), "--instances", "2", "--processes", "1", "--proof", "strict", "--",
        *SHORT, "--epochs", "2", "--sync", "average:1", "--model-dir", str(tmp_path),
    )  # fmt: skip
    assert answer.code == 0, answer.out + answer.err
    assert "2 hosts x 1 rank, Gloo; parameters exchanged, weights equal" in answer.out
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert losses(found) == pytest.approx(losses(by_fit[1]), rel=1e-2)


@pytest.mark.parametrize("script", [FIT, LOOP], ids=["fit", "loop"])
def test_two_small_backward_passes_are_one_large_batch_and_the_job_is_proven(
    by_fit: tuple[Path, Any], tmp_path: Path, launch: Launch, script: Path
) -> None:
    """By Horovod's optimizer, and by what the loop adds up itself."""
    answer = launch(
        "local", str(script), "--instances", "2", "--processes", "1", "--proof", "strict", "--",
        "--optimizer", "sgd", "--epochs", "2", "--max-steps-per-epoch", "13", "--batch-size", "16",
        "--backward-passes", "2", "--model-dir", str(tmp_path),
    )  # fmt: skip
    assert answer.code == 0, answer.out + answer.err
    assert "2 hosts x 1 rank, Gloo; gradients exchanged (accumulated), weights equal" in answer.out
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert found["steps"] == 24, "the thirteenth batch is no half of a step"
    assert losses(found) == pytest.approx(losses(by_fit[1]), rel=1e-2)


def test_divided_epochs_in_16_bits_are_one_of_two_on_each_rank_and_proven(
    tmp_path: Path, launch: Launch
) -> None:
    answer = launch(
        "local", str(FIT), "--instances", "2", "--processes", "1", "--",
        "--divide", "epochs", "--epochs", "2", "--compression", "fp16",
        "--model-dir", str(tmp_path),
    )  # fmt: skip
    assert answer.code == 0, answer.out + answer.err
    assert "gradients exchanged (fp16), weights equal" in answer.out
    assert "each of 2 ranks reads 1438 an epoch in 45 steps" in answer.out
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert (found["epochs"], found["steps"]) == (1, 45)


def test_adasum_under_gloo_ends_all_ranks_before_the_first_step(tmp_path: Path) -> None:
    ranks = horovod_ranks.run(tmp_path, ["--sync", "adasum"], script=LOOP)
    assert [rank.exit_code for rank in ranks] == [1, 1]
    assert ranks[0].stderr.startswith(
        "train_custom_loop.py: error: --sync adasum: these ranks speak by Gloo, and Horovod has"
    )
    assert ranks[0].stderr.count("\n") == 1
    assert (ranks[1].stderr, ranks[0].stdout + ranks[1].stdout) == ("", "")
