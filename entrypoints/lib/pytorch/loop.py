"""What a training loop of PyTorch repeats: batches on the device, the rate, an epoch's means."""

from __future__ import annotations

import contextlib
from itertools import islice
from typing import Any, Iterator, Tuple

import torch

from ..arrays import Array
from ..remaining import Stretch
from ..run import Run
from .freezing import Network
from .learner import pixels_of

Batch = Tuple[Any, Any, Any]  # pixels (n, channels, rows, columns), labels (n,), weights (n,)


def epochs(run: Run, stretch: Stretch, model: Network, device: Any) -> Iterator[Iterator[Batch]]:
    """The batches of each epoch of a stretch as ``model`` wants them, on ``device``; what comes
    next is read while one is trained on.

    All weights are 1 but in the last steps of an epoch with ``--remainder pad`` or ``uneven``: the
    mean over the ranks of the weighted mean of a batch is the mean over the samples of the step.
    """
    with contextlib.closing(stretch.arrays()) as arrays:  # type: ignore[type-var]
        for epoch in stretch.epochs:
            run.epoch_begins(epoch)
            yield (_for(model, device, batch) for batch in islice(arrays, stretch.steps))


def _for(model: Network, device: Any, batch: tuple[Array, ...]) -> Batch:
    images, labels, *weights = batch
    counts = torch.from_numpy(weights[0]) if weights else torch.ones(len(labels))
    return (
        pixels_of(images, model, device),
        torch.from_numpy(labels).to(device),
        counts.to(device),
    )


def set_rate(optimizer: Any, rate: float) -> None:
    """The learning rate of the steps that follow."""
    for group in optimizer.param_groups:
        group["lr"] = rate


class Means:
    """Loss and accuracy of an epoch, added up on the device, so that no step waits for them."""

    def __init__(self) -> None:
        self._loss: Any = 0.0
        self._right: Any = 0.0
        self._samples: Any = 0.0

    def add(self, losses: Any, logits: Any, labels: Any, weights: Any) -> None:
        """A step: each sample's loss, what the model said of it, and its weight.

        Whatever that is, a sample counts once, and padding, whose weight is 0, not at all.
        """
        counted = (weights > 0).float()
        right = (logits.detach().argmax(dim=1) == labels) * counted
        self._loss = self._loss + (losses.detach() * counted).sum()
        self._right = self._right + right.sum()
        self._samples = self._samples + counted.sum()

    def values(self) -> tuple[float, float, float]:
        """(loss, accuracy, samples that they are means over), for ``Run.epoch_ended``."""
        samples = float(self._samples)
        most = max(samples, 1.0)
        return float(self._loss) / most, float(self._right) / most, samples
