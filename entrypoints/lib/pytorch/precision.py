"""Layers of PyTorch that compute in 16 bits, and the loss scale that float16 needs."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from ..arguments import Settings
from ..arrays import Array
from ..errors import TrainingError
from ..precision import AUTO, BFLOAT16, FLOAT16, FLOAT32, Gpu, choose, line
from ..progress import say
from .ranks import HOROVOD, TorchRanks

TYPES = {FLOAT32: torch.float32, BFLOAT16: torch.bfloat16, FLOAT16: torch.float16}


class Precision:
    """In which precision the forward pass computes: a context. Weights stay float32.

    With float16 the loss is scaled, so that small gradients are not lost. Gradients are averaged
    while they are scaled: an overflow on one rank is one on all, and all ranks leave the step out
    and halve the scale.

    Args:
        name: Of the type, such as ``bfloat16``.
        device: Of the rank.
    """

    def __init__(self, name: str, device: Any):
        self.name, self._device = name, device
        self.scaler: Any = _new_scaler() if name == FLOAT16 else None
        self._computing = contextlib.ExitStack()

    def __enter__(self) -> None:
        if self.name != FLOAT32:
            kind = TYPES[self.name]
            self._computing.enter_context(torch.autocast(self._device.type, dtype=kind))

    def __exit__(self, *error: Any) -> None:
        self._computing.close()

    def scaled(self, loss: Any) -> Any:
        """``loss``, from which gradients are computed."""
        return self.scaler.scale(loss) if self.scaler else loss

    def step(self, optimizer: Any) -> None:
        """A step of the optimizer; none where a gradient has overflowed."""
        if self.scaler is None:
            optimizer.step()
            return
        self.scaler.step(optimizer)
        self.scaler.update()

    def state(self) -> list[Array]:
        """For a checkpoint: the loss scale, and the steps since it was changed."""
        if self.scaler is None:
            return []
        state = self.scaler.state_dict()
        scale = torch.tensor([state["scale"], float(state["_growth_tracker"])], dtype=torch.float64)
        return [scale.numpy()]

    def restore(self, scale: float, steps: float) -> None:
        """Goes on from :meth:`state`."""
        if self.scaler is not None:
            own = self.scaler.state_dict()
            self.scaler.load_state_dict({**own, "scale": scale, "_growth_tracker": int(steps)})

    def settle(self, ranks: TorchRanks) -> None:
        """Averages the loss scales of ranks that take steps of their own; all ranks call it."""
        for scale in self.state():
            self.restore(*(sum(of_ranks) / ranks.size for of_ranks in zip(*ranks.gather(scale))))


def chosen(settings: Settings, ranks: TorchRanks, device: Any) -> Precision:
    """The precision that the command line asks for, the same on all ranks, which all call it.

    Raises:
        TrainingError: A rank's device cannot compute in it, or Horovod's optimizer would have to.
        PeerEndedError: The same on the ranks that have nothing to add.
    """
    of_ranks = ranks.gather(_gpus(device))

    def choice() -> str:
        name = choose(settings.precision, of_ranks)
        if name != FLOAT16 or ranks.speak_by != HOROVOD or settings.sync.averages:
            return name
        if settings.precision == AUTO:
            return FLOAT32
        raise TrainingError(
            "--precision float16: not with Horovod's optimizer, which averages gradients before "
            "they can be looked at; take --precision auto, or --strategy torch"
        )

    name = ranks.together(choice)
    if settings.precision != FLOAT32 and ranks.first:
        say(line(name))
    return Precision(name, device)


def _gpus(device: Any) -> list[Gpu]:
    if device.type != "cuda":
        return []
    name, capability = torch.cuda.get_device_name(device), torch.cuda.get_device_capability(device)
    return [Gpu(name, capability)]


def _new_scaler() -> Any:
    if hasattr(torch.amp, "GradScaler"):  # since PyTorch 2.3
        return torch.amp.GradScaler("cuda")
    return torch.cuda.amp.GradScaler()
