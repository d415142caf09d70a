"""Ranks that speak by Horovod's PyTorch binding."""

from __future__ import annotations

import os
import sys
from typing import Any, Sequence, TypeVar

from ..errors import TrainingError, first_line
from ..ranks import check_size
from .ranks import HOROVOD, TorchRanks

try:
    import horovod
    import horovod.torch as hvd
except ImportError as error:
    raise TrainingError(
        f"Horovod for PyTorch cannot be imported in {sys.executable}: {first_line(error)}. "
        "Install horovod, after torch, with HOROVOD_WITH_PYTORCH=1; or use --strategy torch, which "
        "needs none."
    ) from error

T = TypeVar("T")


class HorovodTorchRanks(TorchRanks):
    """Horovod's ranks after ``hvd.init()``."""

    speak_by = HOROVOD

    def __init__(self) -> None:
        """Starts Horovod. Blocks until all ranks have come.

        Raises:
            TrainingError: Horovod found another number of ranks than were started.
        """
        hvd.init()
        self.versions = {"Horovod": str(horovod.__version__)}
        super().__init__(
            rank=int(hvd.rank()),
            size=int(hvd.size()),
            position=int(hvd.local_rank()),
            on_this_host=int(hvd.local_size()),
        )
        check_size(self.size, "Horovod", os.environ)

    def gather(self, value: T) -> list[T]:
        """Every rank's ``value`` on all ranks, by rank; it is pickled."""
        result: list[T] = hvd.allgather_object(value, name="values")
        return result

    def from_first(self, value: T) -> T:
        """Rank 0's ``value`` on all ranks; it is pickled."""
        result: T = hvd.broadcast_object(value, root_rank=0, name="value")
        return result

    def same_tensors(self, tensors: Sequence[Any]) -> None:
        """Puts rank 0's values into ``tensors`` on all ranks."""
        hvd.broadcast_parameters(_named(tensors), root_rank=0)

    def mean(self, tensor: Any) -> Any:
        """The mean of all ranks' ``tensor``."""
        return hvd.allreduce(tensor, name="mean")

    def average_in_place(self, tensors: Sequence[Any]) -> None:
        """Puts the mean of all ranks' values into each of ``tensors``."""
        for handle in [hvd.allreduce_async_(one, name=f"mean.{n}") for n, one in _named(tensors)]:
            hvd.synchronize(handle)


def _named(tensors: Sequence[Any]) -> list[tuple[str, Any]]:
    """Their values, which they share.

    Horovod takes a tensor without dimensions, such as Adam's count of steps, for one without
    values, and leaves it alone (TorchTensor::shape in horovod/torch/adapter_v2.cc).
    """
    own = [tensor.detach() for tensor in tensors]
    return [(str(n), one if one.dim() else one.reshape(1)) for n, one in enumerate(own)]
