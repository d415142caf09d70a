"""A run on ranks that are threads, with a model that learns nothing: what it makes of numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from entrypoints.lib import arguments
from entrypoints.lib.errors import TrainingError
from entrypoints.lib.ranks import Ranks
from entrypoints.lib.run import Run
from entrypoints.lib.tracking import makers
from tests.entrypoints.lib.mnist_format import write_data_set
from tests.entrypoints.lib.thread_ranks import together
from tests.entrypoints.lib.tracking.recording import Recording

SAMPLES, RANKS, BATCH = 13, 2, 3  # 7 and 6 of them, so that rank 0 has a step of its own
IN_PLACE = "in place of 2 (--divide epochs)"


class Still:
    """A model without a weight."""

    versions: Mapping[str, str] = MappingProxyType({})
    identity: Mapping[str, str] = MappingProxyType({})

    def weights(self) -> list[Any]:
        return []

    def optimizer_state(self) -> list[Any]:
        return []

    def fill(self, weights: Any, optimizer: Any) -> None: ...

    def take_first(self) -> None: ...

    def settle(self) -> None: ...

    def predict(self, images: Any) -> Any:
        return np.full((len(images), 10), 0.1)


@pytest.fixture(autouse=True)
def one_process_has_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ranks, "of_this_process", None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Pictures that say their number by their pixels, and are of class 0 up to number 3."""
    numbers = np.arange(SAMPLES)
    images = np.broadcast_to(numbers[:, None, None], (SAMPLES, 4, 4))
    split = images, (numbers > 3).astype(np.int64)
    write_data_set(tmp_path / "data", split, split)
    return tmp_path / "data"


def train(run: Run) -> None:
    """A sample's loss is its number; class 0 is what the model always says."""
    run.restore(Still())
    for stretch in run.stretches():
        batches = stretch.arrays()
        for epoch in stretch.epochs:
            run.epoch_begins(epoch)
            numbers, right = [], []
            for _ in range(stretch.steps):
                pixels, labels, *weights = next(batches)
                counted = weights[0] > 0 if weights else np.full(len(labels), True)
                numbers += pixels[counted, 0, 0, 0].tolist()
                right += (labels[counted] == 0).tolist()
                run.step_ended(lambda: 0.0)
            run.epoch_ended(float(np.mean(numbers)), float(np.mean(right)), len(numbers))
    run.finish(lambda folder: folder)


@pytest.mark.parametrize("remainder", ["uneven", "pad"])
def test_metrics_of_an_epoch_are_means_over_all_ranks_samples_though_they_have_unequally_many(
    remainder: str, data: Path, tmp_path: Path
) -> None:
    settings = arguments.parse(
        ["--data", f"mnist-files:{data}", "--batch-size", str(BATCH), "--epochs", "2",
         "--remainder", remainder, "--model-dir", str(tmp_path / "model")]
    )  # fmt: skip

    def of_rank(ranks: Ranks) -> None:
        with Run(settings, ranks, arrays=True) as run:
            train(run)

    together(RANKS, of_rank)
    history = json.loads((tmp_path / "model" / "metrics.json").read_text())["history"]
    assert len(history) == 2
    for epoch in history:
        assert epoch["loss"] == pytest.approx(np.arange(SAMPLES).mean(), rel=1e-12)
        assert epoch["accuracy"] == pytest.approx(4 / SAMPLES, rel=1e-12)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--warmup-epochs", "2"], ["warm-up: 1 of the 2 epochs of each of 2 ranks, " + IN_PLACE]),
        (["--warmup-epochs", "1"], []),
    ],
    ids=["shorter", "as given"],
)
def test_a_warm_up_that_is_cut_to_a_ranks_share_of_the_epochs_is_told_once(
    more: list[str], told: Sequence[str], data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = arguments.parse(
        ["--data", f"mnist-files:{data}", "--batch-size", str(BATCH), "--epochs", "4",
         "--divide", "epochs", "--lr-scaling", "linear", *more]
    )  # fmt: skip

    def of_rank(ranks: Ranks) -> None:
        with Run(settings, ranks, arrays=True) as run:
            assert run.settings.warmup_epochs == 1

    together(RANKS, of_rank)
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("warm-up")] == told


class Other(Still):
    """Whose checkpoints are another training's."""

    identity: Mapping[str, str] = MappingProxyType({"model": "another"})


def test_a_start_that_the_checkpoint_refuses_changes_nothing_of_the_tracked_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = Recording()
    monkeypatch.setattr(makers, "_MAKERS", {"mlflow": lambda *_: sink})
    settings = arguments.parse(
        ["--data", f"mnist-files:{data}", "--batch-size", str(BATCH), "--epochs", "1",
         "--track", "mlflow", "--checkpoint-dir", str(tmp_path / "checkpoints")]
    )  # fmt: skip

    def of_rank(ranks: Ranks) -> None:
        with Run(settings, ranks, arrays=True) as run:
            train(run)

    def refused(ranks: Ranks) -> None:
        with Run(settings, ranks, arrays=True) as run:
            run.restore(Other())

    together(1, of_rank)
    told = sink.kinds()
    assert (told[0], told[-1]) == ("begin", "end")
    with pytest.raises(TrainingError, match="from another training"):
        together(1, refused)
    assert sink.kinds() == told
