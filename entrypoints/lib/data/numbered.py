"""Training on samples that can be read in any order by their number: in memory, or a file each.

The order of an epoch follows from seed and epoch; each rank takes every ``world_size``-th of what
is unread. So the batches of one step are together the batch that one process with ``world_size``
times the batch size would read, and what has been read is always the beginning of the order: a run
that goes on, in the same world or another, needs only to know how much that is.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any, Callable, Iterable, Iterator, Mapping, Tuple

import numpy as np

from ..arrays import Array
from ..errors import TrainingError
from . import position as positions
from . import weights
from .dataset import Part
from .division import DROP, Division
from .position import Position, Stage

# In TensorFlow's graph: numbers (n,) -> pixels (n, ...) float32, labels (n,).
Fetch = Callable[[Any], Tuple[Any, Any]]
# The numbers of each batch -> its pixels (n, rows, columns, channels) and labels (n,).
Arrays = Callable[[Iterable[Array]], Iterator[Tuple[Array, Array]]]


class NumberedCourse:
    """One rank's way through ``samples`` numbered samples.

    Args:
        samples: Their count.
        part: The rank's part.
        start: What ``state`` gave; None for the beginning.
        fetch: Makes what gives the pixels and labels of some numbers while a tf.data graph is made.
        arrays: The same without TensorFlow.
        one_by_one: Whether what ``fetch`` makes takes one number and is called in parallel.

    Raises:
        TrainingError: The start is in another number of samples, or is none.
    """

    def __init__(
        self,
        samples: int,
        part: Part,
        start: Mapping[str, Any] | None,
        fetch: Callable[[], Fetch] | None = None,
        arrays: Arrays | None = None,
        one_by_one: bool = False,
    ):
        self._samples, self._part, self._one_by_one = samples, part, one_by_one
        self._fetch, self._arrays = fetch, arrays
        self._made: Fetch | None = None
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
        from . import numbered_tensorflow

        if self._made is None:
            assert self._fetch is not None, "this data has arrays alone"
            self._made = self._fetch()
        weighted, size = self._part.remainder != DROP, self._part.batch_size
        return numbered_tensorflow.batches(
            range(first, first + epochs),
            self.laid_out,
            self._made,
            weighted=weighted,
            one_by_one=size if self._one_by_one else None,
        )

    def arrays(self, epochs: int, first: int = 0) -> Iterator[tuple[Any, ...]]:
        """The same batches as NumPy arrays; see ``dataset.Course``."""
        if self._arrays is None:
            for batch in self.batches(epochs, first):
                yield tuple(each.numpy() for each in batch)
            return
        counted: deque[Array] = deque()

        def chosen() -> Iterator[Array]:
            for number in range(first, first + epochs):
                numbers, ends, counts = self.laid_out(number)
                for begin, end in zip(ends.tolist(), ends[1:].tolist()):
                    counted.append(counts[begin:end])
                    yield numbers[begin:end]

        weighted = self._part.remainder != DROP
        for pixels, labels in self._arrays(chosen()):
            counts = counted.popleft()
            yield (pixels, labels, counts) if weighted else (pixels, labels)

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

    def laid_out(self, epoch: int) -> tuple[Array, Array, Array]:
        """(numbers of all batches, where each begins and the last ends, what each one counts) of
        the epoch so many after the start."""
        position = self._epoch(epoch)
        order = epoch_order(self._samples, position.seed, position.epoch)
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


def epoch_order(samples: int, seed: int, epoch: int) -> Array:
    """The numbers 0 to ``samples`` - 1 (int64) in the order of that epoch, the same everywhere.

    RandomState's stream is frozen by NumPy's compatibility policy (NEP 19), so that a run can be
    taken up again in an image with another NumPy.
    """
    return np.random.RandomState([seed, epoch]).permutation(samples).astype(np.int64)


def test_numbers(samples: int, rank: int, world_size: int, batch_size: int) -> list[Array]:
    """The numbers (int64) of each of this rank's test batches; over all ranks each sample once.

    Ranks may differ by one sample, or have none: whoever combines results weighs by count.
    """
    mine = np.arange(rank, samples, world_size, dtype=np.int64)
    return [mine[at : at + batch_size] for at in range(0, len(mine), batch_size)]
