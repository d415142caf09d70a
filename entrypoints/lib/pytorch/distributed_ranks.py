"""Ranks that speak by torch.distributed: NCCL where each has a GPU, else Gloo."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Iterator, Sequence, TypeVar

import torch
import torch.distributed as dist

from ..errors import TrainingError, first_line
from ..ranks import check_size
from .ranks import TORCH, TorchRanks

T = TypeVar("T")


class DistributedRanks(TorchRanks):
    """The default process group, made from the variables that torchrun and launch set."""

    speak_by = TORCH

    def __init__(self) -> None:
        """Makes the group. Blocks until all ranks have come.

        Raises:
            TrainingError: It cannot be made, or has another size than were started.
        """
        position = int(os.environ.get("LOCAL_RANK", "0"))
        gpus = torch.cuda.device_count()
        if gpus:
            torch.cuda.set_device(position % gpus)
        try:
            dist.init_process_group("nccl" if gpus else "gloo")
        except (RuntimeError, ValueError) as error:
            raise TrainingError(f"the process group cannot be made: {first_line(error)}") from error
        super().__init__(
            rank=dist.get_rank(),
            size=dist.get_world_size(),
            position=position,
            on_this_host=int(os.environ.get("LOCAL_WORLD_SIZE", "1")),
        )
        check_size(self.size, "torch.distributed", os.environ)

    def leave(self) -> None:
        """Ends the process group; Lightning's Trainer may have done so."""
        super().leave()
        if dist.is_initialized():
            dist.destroy_process_group()

    def gather(self, value: T) -> list[T]:
        """Every rank's ``value`` on all ranks, by rank; it is pickled."""
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def from_first(self, value: T) -> T:
        """Rank 0's ``value`` on all ranks; it is pickled."""
        values = [value]
        dist.broadcast_object_list(values, src=0)
        return values[0]

    def same_tensors(self, tensors: Sequence[Any]) -> None:
        """Puts rank 0's values into ``tensors`` on all ranks."""
        for tensor in tensors:
            with _carried(tensor) as there:
                dist.broadcast(there, src=0)

    def mean(self, tensor: Any) -> Any:
        """The mean of all ranks' ``tensor``."""
        total = tensor.clone()
        dist.all_reduce(total)
        return total / self.size

    def average_in_place(self, tensors: Sequence[Any]) -> None:
        """Puts the mean of all ranks' values into each of ``tensors``."""
        for tensor in tensors:
            with _carried(tensor) as there:
                dist.all_reduce(there)
                there /= self.size


@contextlib.contextmanager
def _carried(tensor: Any) -> Iterator[Any]:
    """Its values where the group takes them; what becomes of them there becomes of its own."""
    own = tensor.detach()
    # NCCL takes what is on a GPU alone, and Adam counts its steps on the CPU.
    there = own.cuda() if dist.get_backend() == "nccl" else own
    yield there
    if there is not own:
        own.copy_(there)
