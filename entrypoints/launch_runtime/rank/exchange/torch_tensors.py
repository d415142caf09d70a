"""How PyTorch's tensors are read: where their values lie, and what these are."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from launch_runtime.rank.exchange import fingerprints
from launch_runtime.rank.exchange.fingerprints import MOST_VALUES


def own(tensor: Any) -> Any:
    """This rank's part of a DTensor, of which to read the whole would need the other ranks."""
    return getattr(tensor, "_local_tensor", tensor)


def is_part(tensor: Any) -> bool:
    """Whether it is a DTensor of which each rank holds a part."""
    return any(placement.is_shard() for placement in getattr(tensor, "placements", ()))


def place_of(tensor: Any) -> int:
    """Where its values begin; 0 for a sparse one, which no place stands for."""
    tensor = own(tensor)
    return 0 if getattr(tensor, "is_sparse", False) else int(tensor.data_ptr())


def is_capturing() -> bool:
    """Whether a CUDA graph is made, in which nothing may be read."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():  # without a driver the other question raises
        return False
    return hasattr(cuda, "is_current_stream_capturing") and bool(cuda.is_current_stream_capturing())


def values_of(tensor: Any, most: int = fingerprints.MOST_APPLIED_VALUES) -> Any:
    """The first ``most`` of them as a NumPy array."""
    values = own(tensor).detach()
    if not values.is_floating_point():
        raise ValueError("no real numbers")
    return values.reshape(-1)[:most].float().cpu().numpy()


class Reader:
    """Reads a parameter, or its storage once it is gone."""

    def __init__(self, parameter: Any):
        self._ref = weakref.ref(parameter)
        self.hold(parameter)

    @property
    def place(self) -> int:
        """Where the parameter's values begin; 0 once it is gone."""
        alive = self._ref()
        return 0 if alive is None else place_of(alive)

    def hold(self, parameter: Any) -> None:
        """Its storage is where it is now."""
        self._storage = own(parameter).detach()

    def __call__(self) -> Any:
        alive = self._ref()
        return values_of(self._storage if alive is None else alive, MOST_VALUES)
