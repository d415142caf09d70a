"""Training on samples that can be read in any order by their number: in memory, or a file each.

The order of an epoch follows from seed and epoch; each rank takes every ``world_size``-th of what
is unread. So the batches of one step are together the batch that one process with ``world_size``
times the batch size would read, and what has been read is always the beginning of the order: a run
that goes on, in the same world or another, needs only to know how much that is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Mapping, Tuple

import numpy as np
import tensorflow as tf

from ..arrays import Array
from ..errors import TrainingError
from . import position as positions
from . import shards, weights
from .dataset import Part
from .division import DROP, Division
from .position import Position, Stage

Fetch = Callable[[Any], Tuple[Any, Any]]  # numbers (n,) -> pixels (n, ...) float32, labels (n,)


class NumberedCourse:
    """One rank's way through ``samples`` numbered samples.

    Args:
        samples: Their count.
        fetch: Gives the pixels and labels of some numbers; called while a tf.data graph is made.
        part: The rank's part.
        start: What ``state`` gave; None for the beginning.
        one_by_one: Whether ``fetch`` takes one number and is called in parallel.

    Raises:
        TrainingError: The start is in another number of samples, or is none.
    """

    def __init__(
        self,
        samples: int,
        fetch: Fetch,
        part: Part,
        start: Mapping[str, Any] | None,
        one_by_one: bool = False,
    ):
        self._samples, self._fetch, self._part, self._parallel = samples, fetch, part, one_by_one
        self._division = part.division(block_groups=1)
        self._start = Position(part.seed, rows=samples)
        if start is not None and not start.get("stages"):
            self._start = replace(self._start, epoch=int(start["epoch"]))
        elif start is not None:
            self._start = positions.from_json(start)
            if self._start.rows != samples:
                raise TrainingError(
                    f"the checkpoint stands within an epoch of {self._start.rows} training images, "
                    f"and here are {samples}. Give the data that it was written with, or another "
                    "folder with --checkpoint-dir."
                )

    @property
    def first_steps(self) -> int:
        """Steps to the end of the epoch in which it starts."""
        return self._steps(self._start)

    @property
    def steps(self) -> int:
        """Steps of every other epoch."""
        return self._steps(self._epoch(1))

    def batches(self, epochs: int, first: int = 0) -> Any:
        """A tf.data.Dataset of the batches of ``epochs`` epochs; see ``dataset.Course``."""
        kinds = (tf.int64, tf.int64, tf.float32)

        def laid_out(epoch: Array) -> tuple[Array, Array, Array]:
            return self._laid_out(self._epoch(int(epoch)))

        def one_epoch(epoch: Any) -> Any:
            found = tf.numpy_function(laid_out, [epoch], kinds)
            numbers, ends, counts = (tf.ensure_shape(each, [None]) for each in found)
            if self._parallel:
                return self._one_by_one(numbers, counts)
            return self._at_once(numbers, ends, counts)

        return tf.data.Dataset.range(first, first + epochs).flat_map(one_epoch).prefetch(2)

    def _at_once(self, numbers: Any, ends: Any, counts: Any) -> Any:
        """Each batch by one call; for what is in memory."""

        def batch(step: Any) -> Any:
            at = slice(ends[step], ends[step + 1])
            return self._with(self._fetch(numbers[at]), counts[at])

        return tf.data.Dataset.range(tf.cast(tf.size(ends), tf.int64) - 1).map(batch)

    def _one_by_one(self, numbers: Any, counts: Any) -> Any:
        """Samples in parallel, then batches: all but an epoch's last are full."""
        samples = tf.data.Dataset.from_tensor_slices((numbers, counts))
        return samples.map(
            lambda number, count: self._with(self._fetch(number), count),
            num_parallel_calls=tf.data.AUTOTUNE,
        ).batch(self._part.batch_size)

    def _with(self, sample: tuple[Any, Any], count: Any) -> Any:
        return sample if self._part.remainder == DROP else (*sample, count)

    def state(self, epochs: int, steps: int) -> Mapping[str, Any]:
        """Where training stands so many epochs and steps after the start, for a checkpoint."""
        position = self._epoch(epochs)
        if steps:
            position = replace(position, stages=(*position.stages, Stage(self._division, steps)))
        return position.as_json()

    def _epoch(self, number: int) -> Position:
        """The beginning of the epoch ``number`` epochs after the start; 0 is the start itself."""
        if number == 0:
            return self._start
        return Position(self._part.seed, self._start.epoch + number, rows=self._samples)

    def _steps(self, position: Position) -> int:
        left = weights.steps_of_all(self._division, _samples_left(position, self._samples))
        if self._part.max_steps is None:
            return left
        had = sum(stage.steps for stage in position.stages)
        return max(0, min(left, self._part.max_steps - had))

    def _laid_out(self, position: Position) -> tuple[Array, Array, Array]:
        """(numbers of all batches, where each begins and the last ends, what each one counts)."""
        order = shards.epoch_order(self._samples, position.seed, position.epoch)
        left = _samples_left(position, self._samples)
        order = order[self._samples - left :]
        division, rank = self._division, self._part.rank
        mine = order[rank :: division.ranks]
        numbers, ends, counts = [], [0], []
        for step in range(self._steps(position)):
            real = weights.real_length(division, left, rank, step)
            size = weights.length(division, left, rank, step)
            begin = step * division.batch_size
            chosen = np.resize(mine[begin : begin + real], size) if real else order[:1].repeat(size)
            count = np.zeros(size, np.float32)
            count[:real] = weights.factor(division, left, rank, step)
            numbers.append(chosen)
            counts.append(count)
            ends.append(ends[-1] + size)
        return (
            np.concatenate([*numbers, np.array([], np.int64)]).astype(np.int64),
            np.array(ends, np.int64),
            np.concatenate([*counts, np.array([], np.float32)]),
        )


def _samples_left(position: Position, samples: int) -> int:
    """How many of the epoch's samples no rank has read at that position."""
    left = samples
    for stage in position.stages:
        left -= _read(stage.division, left, stage.steps)
    return left


def _read(division: Division, samples: int, steps: int) -> int:
    return sum(
        min(division.share_rows(samples, share)[0], steps * division.batch_size)
        for share in range(division.ranks)
    )


def test_numbers(samples: int, rank: int, world_size: int, batch_size: int) -> list[Array]:
    """The numbers of each of this rank's test batches; over all ranks each sample once."""
    mine = shards.evaluation_shard(samples, rank, world_size)
    return [mine[at : at + batch_size] for at in range(0, len(mine), batch_size)]
