"""Ranks that speak by torch.distributed: NCCL where each has a GPU, else Gloo."""

from __future__ import annotations

import collections
import contextlib
import os
import pickle
from typing import Any, Iterator, Sequence, TypeVar

import torch
import torch.distributed as dist

from ..errors import TrainingError, first_line
from ..ranks import check_size
from .ranks import TORCH, TorchRanks

T = TypeVar("T")

# The tensors of the last operations. A thread of Gloo's lets go of them some time after one
# has ended, and needs Python's lock where nobody else holds them; the group's end, which waits for
# that thread, holds the lock. Both would wait for ever. torch's own all_gather_object makes such
# tensors, and keeps none of them.
_held: collections.deque[Sequence[Any]] = collections.deque(maxlen=512)


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
        own = _pickled(value)
        sizes = self._of_all(torch.tensor([len(own)]))
        padded = torch.zeros(int(max(sizes)), dtype=torch.uint8)
        padded[: len(own)] = own
        of_ranks = self._of_all(padded)
        return [_unpickled(one[: int(size)]) for one, size in zip(of_ranks, sizes)]

    def from_first(self, value: T) -> T:
        """Rank 0's ``value`` on all ranks; it is pickled."""
        own = _pickled(value if self.first else None)
        size = int(_from_first(torch.tensor([len(own)])))
        told = _from_first(own if self.first else torch.zeros(size, dtype=torch.uint8))
        result: T = _unpickled(told)
        return result

    def same_tensors(self, tensors: Sequence[Any]) -> None:
        """Puts rank 0's values into ``tensors`` on all ranks."""
        for tensor in tensors:
            with _carried(tensor) as there:
                dist.broadcast(there, src=0)

    def mean(self, tensor: Any) -> Any:
        """The mean of all ranks' ``tensor``."""
        total = _there(tensor.clone())
        dist.all_reduce(total)
        return total / self.size

    def average_in_place(self, tensors: Sequence[Any]) -> None:
        """Puts the mean of all ranks' values into each of ``tensors``."""
        for tensor in tensors:
            with _carried(tensor) as there:
                dist.all_reduce(there)
                there /= self.size

    def _of_all(self, tensor: Any) -> list[Any]:
        own = _there(tensor)
        of_ranks = [torch.empty_like(own) for _ in range(self.size)]
        _hold(*of_ranks)
        dist.all_gather(of_ranks, own)
        return of_ranks


def _pickled(value: object) -> Any:
    return torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)


def _unpickled(tensor: Any) -> Any:
    return pickle.loads(tensor.cpu().numpy().tobytes())


def _from_first(tensor: Any) -> Any:
    there = _there(tensor)
    dist.broadcast(there, src=0)
    return there


def _there(tensor: Any) -> Any:
    """It where the group takes it, held where that is Gloo; NCCL takes what is on a GPU alone."""
    if dist.get_backend() == "nccl":
        return tensor.cuda()
    _hold(tensor)
    return tensor


def _hold(*tensors: Any) -> None:
    if dist.get_backend() != "nccl":
        _held.append(tensors)


@contextlib.contextmanager
def _carried(tensor: Any) -> Iterator[Any]:
    """Its values where the group takes them; what becomes of them there becomes of its own."""
    own = tensor.detach()
    there = _there(own)  # Adam counts its steps on the CPU
    yield there
    if there is not own:
        own.copy_(there)
