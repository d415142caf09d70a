"""What a run has left to train, from where its checkpoint stands to the last epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator

from . import sync
from .arguments import Settings
from .data import position
from .data.dataset import Course, DataSet, Part
from .plan import Plan
from .ranks import Ranks
from .saved_state import SavedState


@dataclass(frozen=True)
class Stretch:
    """Epochs that follow each other and have the same number of steps.

    Attributes:
        epochs: Their numbers, from 0.
        steps: Optimizer steps that are left of each of them.
    """

    epochs: range
    steps: int
    _course: Course
    _first: int

    def batches(self) -> Any:
        """A tf.data.Dataset of the batches of all its epochs; see ``data.dataset.Course``."""
        return self._course.batches(len(self.epochs), self._first)

    def arrays(self) -> Iterator[tuple[Any, ...]]:
        """The same batches as NumPy arrays, for frameworks other than TensorFlow."""
        return self._course.arrays(len(self.epochs), self._first)


@dataclass(frozen=True)
class Remaining:
    """The way that is left through the data, on one rank.

    Attributes:
        course: Through the data, from where the run begins.
        first_steps: Steps of the epoch in which it begins, as many as are left of it.
        steps_before: Steps of that epoch that count as done before.
    """

    course: Course
    first_steps: int
    steps_before: int

    def stretches(self, begin: int, end: int) -> Iterator[Stretch]:
        """The epochs from ``begin``, in which the run begins, to before ``end``, which is later."""
        course, first = self.course, 0
        if self.first_steps != course.steps:
            yield Stretch(range(begin, begin + 1), self.first_steps, course, 0)
            first = 1
        if begin + first < end:
            yield Stretch(range(begin + first, end), course.steps, course, first)


def remaining(
    settings: Settings, ranks: Ranks, data: DataSet, plan: Plan, state: SavedState
) -> Remaining:
    """What is left from where ``state``, restored, stands.

    That moves on to the next epoch where nothing is left of its own for this world.
    """
    divided = sync.readers(settings, ranks.size) > 1
    part = Part(
        rank=ranks.rank if divided else 0,
        world_size=ranks.size if divided else 1,
        batch_size=settings.batch_size,
        seed=sync.seed_of(settings, ranks.rank),
        remainder=settings.remainder,
        max_steps=settings.max_steps if settings.backward_passes == 1 else plan.steps,
    )
    # The checkpoint's place in the data is rank 0's.
    start = state.data if state.data is None else position.with_seed(state.data, part.seed)
    course = data.course(part, start)
    first_steps = sync.whole_steps(settings, course.first_steps)
    if first_steps == 0:  # fewer samples are left than this world has ranks
        state.skip_to_next_epoch()
        course = data.course(part, course.state(1, 0))
        first_steps = sync.whole_steps(settings, course.first_steps)
    return Remaining(course, first_steps, max(0, plan.steps - first_steps))
