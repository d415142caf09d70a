"""Which samples a rank reads, in which order: arithmetic on sample numbers, nothing else.

Every rank derives the same order of all training samples from the seed and the epoch and takes
each ``world_size``-th of it. So the batches that the ranks read in one step are together the
batch that a single process with ``world_size`` times the batch size would read, and a run that
is started again in a later epoch reads what an uninterrupted one would have read.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def samples_per_rank(samples: int, world_size: int) -> int:
    """How many of ``samples`` every rank reads in an epoch: the same number on each.

    Fewer than ``world_size`` samples are left over in an epoch; which ones changes with its order.
    """
    return samples // world_size


def steps_per_epoch(
    samples: int, world_size: int, batch_size: int, at_most: int | None = None
) -> int:
    """Optimizer steps of an epoch, the same on every rank.

    The last batch may be short, but it is equally short on every rank, so no rank waits for
    another. ``at_most`` cuts the epoch.
    """
    steps = -(-samples_per_rank(samples, world_size) // batch_size)
    return steps if at_most is None else min(steps, at_most)


def epoch_order(samples: int, seed: int, epoch: int) -> Array:
    """The numbers 0 to ``samples`` - 1 (int64) in the order of that epoch, the same everywhere.

    RandomState's stream is frozen by NumPy's compatibility policy (NEP 19), so that a run can be
    taken up again in an image with another NumPy.
    """
    return np.random.RandomState([seed, epoch]).permutation(samples).astype(np.int64)


def training_shard(order: Array, rank: int, world_size: int) -> Array:
    """The part of an epoch's order that ``rank`` reads; equally long on every rank, no overlap."""
    used = samples_per_rank(len(order), world_size) * world_size
    return order[rank:used:world_size]


def evaluation_shard(samples: int, rank: int, world_size: int) -> Array:
    """The test samples that ``rank`` evaluates (int64); over all ranks each exactly once.

    Shards may differ by one sample, or be empty: whoever combines results weighs by count.
    """
    return np.arange(rank, samples, world_size, dtype=np.int64)
