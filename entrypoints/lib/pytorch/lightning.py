"""What Lightning's Trainer is given of a run: ranks, batches, and a callback that keeps in step."""

from __future__ import annotations

import os
import signal
from typing import Any, Iterator

import lightning.pytorch as pl
from lightning.pytorch.plugins import MixedPrecision

from ..errors import TrainingError
from ..precision import FLOAT16, FLOAT32
from ..run import Run
from . import loop
from .distributed_ranks import DistributedRanks
from .freezing import Network
from .loop import Batch
from .precision import Precision
from .ranks import HOROVOD, TORCH, OneRank, TorchRanks, way


def joined() -> TorchRanks:
    """The ranks of this job, met, in the process group that Trainer finds then. Blocks until all
    have come.

    Raises:
        TrainingError: They cannot meet, or were started for Horovod, which Lightning 2 has not.
    """
    told = way(os.environ)
    if told == HOROVOD:
        raise TrainingError(
            "these ranks were started for Horovod, and this script trains by "
            "DistributedDataParallel: start them by launch with --strategy torch, or by torchrun"
        )
    return DistributedRanks() if told == TORCH else OneRank()


def plugins(precision: Precision, device: Any) -> list[Any]:
    """By which Trainer computes in 16 bits, with the loss scale that checkpoints hold."""
    if precision.name == FLOAT32:
        return []
    short = "16-mixed" if precision.name == FLOAT16 else "bf16-mixed"
    return [MixedPrecision(short, device.type, scaler=precision.scaler)]


class Epochs(pl.LightningDataModule):
    """The batches of all epochs that a run has left, on their device.

    The ranks' parts are divided already. Where a run goes on within an epoch the first one is
    shorter, so none says how long it is: an epoch ends with its batches.

    Args:
        run: Restored.
        model: What is trained.
        device: Of the rank.
    """

    def __init__(self, run: Run, model: Network, device: Any):
        super().__init__()
        self._epochs = (
            batches
            for stretch in run.stretches()
            for batches in loop.epochs(run, stretch, model, device)
        )

    def train_dataloader(self) -> EachEpoch:
        """One object, which Trainer iterates once an epoch."""
        return EachEpoch(self._epochs)

    def teardown(self, stage: str) -> None:
        """Trainer has ended: so do the readers, and the run's clock."""
        next(self._epochs, None)


class EachEpoch:
    """Each iteration over it gives the batches of the epoch that comes next.

    Args:
        epochs: The batches of each.
    """

    def __init__(self, epochs: Iterator[Iterator[Batch]]):
        self._epochs = epochs

    def __iter__(self) -> Iterator[Batch]:
        """Takes the next epoch with its first batch: Trainer makes iterators only to try."""
        yield from next(self._epochs)


class InStep(pl.Callback):
    """Tells the run of each step and epoch; what the run says may end the training.

    Args:
        run: Restored, so that it hears SIGTERM.
    """

    def __init__(self, run: Run):
        self._run, self._means = run, loop.Means()
        self._at_sigterm = signal.getsignal(signal.SIGTERM)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Trainer has put a handler of its own, by which one rank would leave without the others;
        the run's is put back."""
        signal.signal(signal.SIGTERM, self._at_sigterm)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, index: int) -> None:
        """The rate of the step that comes."""
        loop.set_rate(trainer.optimizers[0], self._run.rate)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Batch, index: int
    ) -> None:
        """A step."""
        _, labels, weights = batch
        self._means.add(outputs["losses"], outputs["logits"], labels, weights)
        self._run.step_ended(outputs["loss"].item)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """An epoch; validates, too, and writes a checkpoint."""
        means, self._means = self._means, loop.Means()
        self._run.epoch_ended(*means.values())
