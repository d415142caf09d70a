"""Which layers before the head stay as they are, and a model that leaves them so."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from ..errors import TrainingError

NONE, BODY = "none", "body"


class Network(nn.Sequential):
    """Pixels in, logits out: what prepares pixels, the body, a dropout, the head.

    Attributes:
        at_rest: Modules that are never in training: frozen normalisation uses its moving
            statistics and leaves them alone.
        chosen: What a checkpoint of this model belongs to, beside what every checkpoint says.
        is_channels_last: Whether its weights lie in that memory format.
    """

    def __init__(self, *modules: Any):
        super().__init__(*modules)
        self.at_rest: tuple[Any, ...] = ()
        self.chosen: dict[str, Any] = {}
        self.is_channels_last = False

    def lay_channels_last(self) -> None:
        """Brings the weights into that memory format."""
        self.to(memory_format=torch.channels_last)
        self.is_channels_last = True

    def train(self, mode: bool = True) -> Network:
        """All but what is at rest."""
        super().train(mode)
        for module in self.at_rest:
            module.eval()
        return self

    def forward(self, pixels: Any) -> Any:
        """(n, channels, rows, columns) of any type -> (n, classes).

        A last batch of one picture goes through twice where normalisation is in training: that
        refuses a single value, which the last layers of small pictures have.
        """
        if self.training and len(pixels) == 1 and any(map(_is_normalising, self.modules())):
            return super().forward(torch.cat([pixels, pixels]))[:1]
        return super().forward(pixels)


def _is_normalising(module: Any) -> bool:
    return isinstance(module, _BatchNorm) and module.training


def freeze(model: Network, frozen: str | int) -> None:
    """Freezes all layers before the head (BODY), the first so many, or none.

    Layers are the modules with weights of their own, in the order of ``model.modules()``.

    Raises:
        TrainingError: There are fewer layers before the head.
    """
    if frozen == NONE:
        return
    body = list(model)[:-2]
    layers = [
        module
        for child in body
        for module in child.modules()
        if next(module.parameters(recurse=False), None) is not None
    ]
    count = len(layers) if frozen == BODY else int(frozen)
    if count > len(layers):
        raise TrainingError(
            f"--freeze {count}: this model has {len(layers)} layers with weights before its head; "
            f"expected at most that, or {BODY}."
        )
    for layer in layers[:count]:
        layer.requires_grad_(False)
    model.at_rest = tuple(body if frozen == BODY else layers[:count])
    model.train()


def moving(model: Network) -> list[Any]:
    """The statistics that each rank gathers from its own samples; none of what is at rest."""
    resting = {module for one in model.at_rest for module in one.modules()}
    return [
        buffer
        for module in model.modules()
        if module not in resting
        for name, buffer in module.named_buffers(recurse=False)
        if name in ("running_mean", "running_var")
    ]
