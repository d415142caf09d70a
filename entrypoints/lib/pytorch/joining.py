"""Joins the ranks of a job, by whichever way it was started."""

from __future__ import annotations

import os

from .ranks import HOROVOD, TORCH, OneRank, TorchRanks, way


def joined() -> TorchRanks:
    """The ranks of this job, met. Blocks until all have come.

    Raises:
        TrainingError: They cannot meet, or were started for another strategy.
    """
    told = way(os.environ)
    if told == TORCH:
        from .distributed_ranks import DistributedRanks

        return DistributedRanks()
    if told == HOROVOD:
        from .horovod_ranks import HorovodTorchRanks

        return HorovodTorchRanks()
    return OneRank()
