"""The ranks of a PyTorch program, and which way they speak: torch.distributed, or Horovod.

``LAUNCH_STRATEGY`` says it where the launcher has started them (``launch ... --strategy torch`` or
``horovod``); else the variables do that torchrun or horovodrun set.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Mapping, Sequence, TypeVar

from ..errors import TrainingError
from ..ranks import SIZE_VARIABLES, Ranks

T = TypeVar("T")

HOROVOD, TORCH, ALONE = "horovod", "torch", "none"


class TorchRanks(Ranks):
    """Ranks that can exchange tensors too.

    Attributes:
        speak_by: Which way: of the words above.
        versions: Of the libraries by which they speak, besides PyTorch.
    """

    speak_by = ALONE
    versions: Mapping[str, str] = MappingProxyType({})

    def same_tensors(self, tensors: Sequence[Any]) -> None:
        """Puts rank 0's values into ``tensors`` on all ranks."""
        raise NotImplementedError

    def mean(self, tensor: Any) -> Any:
        """The mean of all ranks' ``tensor``, the same numbers on every rank."""
        raise NotImplementedError

    def average_tensors(self, tensors: Sequence[Any]) -> None:
        """Puts the mean of all ranks' values into ``tensors``, in one exchange."""
        import torch

        floats = [tensor for tensor in tensors if tensor.is_floating_point()]
        if not floats or self.size == 1:
            return
        flat = torch.cat([tensor.detach().float().reshape(-1) for tensor in floats])
        means = self.mean(flat)
        with torch.no_grad():
            for tensor, part in zip(floats, means.split([one.numel() for one in floats])):
                tensor.copy_(part.reshape(tensor.shape))

    def average_in_place(self, tensors: Sequence[Any]) -> None:
        """Puts the mean of all ranks' values into each of ``tensors``, of real numbers.

        They themselves go, not copies: so the job's evidence knows whose mean it is.
        """
        raise NotImplementedError


class OneRank(TorchRanks):
    """A process that trains alone."""

    def __init__(self) -> None:
        super().__init__(rank=0, size=1, position=0, on_this_host=1)

    def gather(self, value: T) -> list[T]:
        """Its own."""
        return [value]

    def from_first(self, value: T) -> T:
        """The value."""
        return value

    def same_tensors(self, tensors: Sequence[Any]) -> None:
        """They are."""

    def mean(self, tensor: Any) -> Any:
        """The tensor."""
        return tensor

    def average_in_place(self, tensors: Sequence[Any]) -> None:
        """They are."""


def way(environment: Mapping[str, str]) -> str:
    """How the ranks of this job speak: ``torch``, ``horovod`` or ``none``.

    Raises:
        TrainingError: The launcher has started ranks of another strategy.
    """
    told = environment.get("LAUNCH_STRATEGY", "")
    if told not in ("", HOROVOD, TORCH, ALONE):
        raise TrainingError(
            f"LAUNCH_STRATEGY is {told}, and this script trains by --strategy torch or horovod"
        )
    if told:
        return told if told != HOROVOD else _horovod_or_alone(environment)
    if environment.get("RANK") and environment.get("WORLD_SIZE"):
        return TORCH
    return _horovod_or_alone(environment)


def _horovod_or_alone(environment: Mapping[str, str]) -> str:
    sizes = (environment.get(name, "").strip() for name in SIZE_VARIABLES)
    return HOROVOD if any(size not in ("", "1") for size in sizes) else ALONE
