"""Which rank this process is of how many, by whatever joined the ranks of a PyTorch program."""

from __future__ import annotations

import os
import sys

from ..errors import TrainingError

_HOROVOD = ("horovod.torch", "horovod.tensorflow", "horovod.keras", "horovod.tensorflow.keras")
# What says how many ranks were started: ours, torchrun's, Horovod's, Open MPI's.
_SIZES = ("LAUNCH_WORLD_SIZE", "WORLD_SIZE", "HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE")
# And how many of them on this host.
_LOCAL_SIZES = ("LOCAL_WORLD_SIZE", "HOROVOD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")


def rank_and_world(rank: int | None = None, world: int | None = None) -> tuple[int, int]:
    """(rank, world size): as given, else torch.distributed's, else Horovod's, else (0, 1).

    Raises:
        TrainingError: One of the two alone was given, they contradict each other, or several
            ranks were started and none has joined: each would read all of the data.
    """
    if (rank is None) != (world is None):
        raise TrainingError(f"rank {rank} of world {world}: give both or none")
    found = (rank, world) if rank is not None and world is not None else _joined()
    if found is None:
        name = next((n for n in _SIZES if os.environ.get(n, "1").strip() not in ("", "1")), None)
        if name is not None:
            raise TrainingError(
                f"{name} says {os.environ[name]} ranks, and this one has not joined them: each "
                "would read all pictures. Call torch.distributed.init_process_group() or "
                "hvd.init() before the data is opened, or give rank and world."
            )
        found = (0, 1)
    if not 0 <= found[0] < found[1]:
        raise TrainingError(f"rank {found[0]} of world {found[1]}: expected 0 <= rank < world")
    return found


def decoding_threads(workers: int = 1) -> int:
    """Threads for each of ``workers`` processes of this rank: its part of the host's cores."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    told = (os.environ.get(name, "") for name in _LOCAL_SIZES)
    ranks = next((int(text) for text in told if text.isdigit() and int(text)), 1)
    return max(1, cores // (ranks * workers))


def _joined() -> tuple[int, int] | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank()), int(distributed.get_world_size())
    for name in _HOROVOD:
        horovod = sys.modules.get(name)
        if horovod is not None and horovod.is_initialized():
            return int(horovod.rank()), int(horovod.size())
    return None
