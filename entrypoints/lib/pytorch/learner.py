"""A PyTorch model in training as the run sees it."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import torch

from ..arrays import Array
from ..precision import FLOAT16
from . import freezing, models
from .freezing import Network
from .precision import Precision
from .ranks import TorchRanks


class TorchLearner:
    """See ``learner.Learner``.

    Args:
        model: Of ``models.build_for``, on its device.
        optimizer: What trains it; its state exists (``models.optimizer``).
        ranks: Of the run.
        precision: Whose loss scale is part of the optimizer's state.
        apart: Whether each rank's optimizer steps by its own gradients.
    """

    def __init__(
        self,
        model: Network,
        optimizer: Any,
        ranks: TorchRanks,
        precision: Precision,
        apart: bool = False,
    ):
        self._model, self._optimizer, self._ranks = model, optimizer, ranks
        self._precision, self._apart = precision, apart

    @property
    def versions(self) -> Mapping[str, str]:
        """PyTorch's, and that of what the ranks speak by."""
        return {"PyTorch": torch.__version__, **self._ranks.versions}

    @property
    def identity(self) -> Mapping[str, Any]:
        """The framework, whose arrays are none of another one's; first weights, what is frozen,
        and whether the optimizer's state has a loss scale."""
        scale = {"loss scale for": FLOAT16} if self._precision.scaler else {}
        return {"framework": "pytorch", **self._model.chosen, **scale}

    def weights(self) -> list[Array]:
        """In the order of ``model.state_dict()``."""
        return [array_of(tensor) for tensor in self._weights()]

    def optimizer_state(self) -> list[Array]:
        """In the order of the parameters; then the loss scale, where there is one."""
        tensors = models.optimizer_tensors(self._optimizer)
        return [*map(array_of, tensors), *self._precision.state()]

    def fill(self, weights: Sequence[Array], optimizer: Sequence[Array]) -> None:
        """Puts these into model and optimizer."""
        tensors, arrays = self._tensors(), [*weights, *optimizer]
        with torch.no_grad():
            for tensor, array in zip(tensors, arrays):
                tensor.copy_(torch.from_numpy(array))
        for scale in arrays[len(tensors) :]:  # none but of a run in float16
            self._precision.restore(*scale)

    def take_first(self) -> None:
        """A broadcast of everything."""
        self._ranks.same_tensors(self._tensors())
        for scale in self._ranks.from_first(self._precision.state()):
            self._precision.restore(*scale)

    def settle(self) -> None:
        """Averages the statistics of normalisation; where ranks step apart all that training
        changes.

        The optimizer's state as well, so that rank 0's is every rank's and a checkpoint is whole.
        """
        self._ranks.average_tensors(freezing.moving(self._model))
        if self._apart:
            trained = [one for one in self._model.parameters() if one.requires_grad]
            state = models.optimizer_tensors(self._optimizer)
            self._ranks.average_in_place([*trained, *state])
            self._precision.settle(self._ranks)

    def predict(self, images: Array) -> Array:
        """The model's answer for one batch."""
        device = next(self._model.parameters()).device
        self._model.eval()
        with torch.no_grad():
            pixels = pixels_of(images, self._model, device)
            found: Array = self._model(pixels).softmax(dim=1).cpu().numpy()
        self._model.train()
        return found

    def _weights(self) -> list[Any]:
        return list(self._model.state_dict().values())

    def _tensors(self) -> list[Any]:
        return [*self._weights(), *models.optimizer_tensors(self._optimizer)]


def pixels_of(images: Array, model: Network, device: Any) -> Any:
    """(n, channels, rows, columns) on ``device`` from (n, rows, columns, channels).

    A model in channels_last takes them as they lie, which mostly is its own order: none is copied.
    """
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2)
    if not model.is_channels_last:
        pixels = pixels.contiguous()
    return pixels.to(device, non_blocking=True)


def array_of(tensor: Any) -> Array:
    """A tensor's values."""
    found: Array = tensor.detach().cpu().numpy()
    return found
