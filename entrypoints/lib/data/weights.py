"""What a sample counts in a step whose ranks have different numbers of samples: arithmetic alone.

Keras divides the sum of a batch's losses by the batch's length, padding included, and Horovod
averages over ranks. These factors undo both, so that a step's gradient is the mean over the
samples that are there.
"""

from __future__ import annotations

from .division import PAD, Division


def steps_of_all(division: Division, samples: int) -> int:
    """Steps that every rank takes for so many samples: those of the rank with the most, rank 0."""
    return division.rank_steps(samples, 0)


def real_length(division: Division, samples: int, rank: int, step: int) -> int:
    """How many samples of a rank's batch in ``step`` (from 0) are no padding."""
    own, _ = division.share_rows(samples, rank)
    return max(0, min(division.batch_size, own - step * division.batch_size))


def length(division: Division, samples: int, rank: int, step: int) -> int:
    """Length of that batch with its padding: at least 1, since every rank takes every step."""
    if division.remainder == PAD:
        _, delivered = division.share_rows(samples, rank)
        return max(1, min(division.batch_size, delivered - step * division.batch_size))
    return max(1, real_length(division, samples, rank, step))


def factor(division: Division, samples: int, rank: int, step: int) -> float:
    """What each real sample of that batch counts; 1 in a step in which all batches are full."""
    least, _ = division.share_rows(samples, division.ranks - 1)
    if (step + 1) * division.batch_size <= least:
        return 1.0
    everyone = range(division.ranks)
    of_step = sum(real_length(division, samples, each, step) for each in everyone)
    return division.ranks * length(division, samples, rank, step) / of_step if of_step else 0.0
