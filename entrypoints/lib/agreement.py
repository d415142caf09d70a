"""What the ranks decide between two steps: to write a checkpoint now, or to end here.

A signal reaches ranks at different steps, and clocks differ, so they have to ask each other; and
since asking takes milliseconds, they don't do it after every step. After each exchange all of them
know by rank 0's pace how many steps the next one is away.
"""

from __future__ import annotations

import time
from typing import Callable, NamedTuple

from .ranks import Ranks

# Between two exchanges. An agent on one's own machine gives ranks 2 s to end.
SECONDS_BETWEEN = 1.0
_MOST_GROWTH = 4  # times as many steps as before: the first ones say little about the others


class Decision(NamedTuple):
    """The same on all ranks.

    Attributes:
        save: A checkpoint of this step is to be written.
        stopped: The ranks that were told to stop; where there are any, all end after this step.
    """

    save: bool = False
    stopped: tuple[int, ...] = ()


class Agreement:
    """Between the steps of one run; all ranks make the same calls.

    Args:
        ranks: Of the run.
        requested: Whether this rank was told to stop.
        minutes: Between two checkpoints, by rank 0's clock; None for no such.
        clock: Seconds, never going back.
    """

    def __init__(
        self,
        ranks: Ranks,
        requested: Callable[[], bool],
        minutes: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._ranks, self._requested, self._clock = ranks, requested, clock
        self._seconds = None if minutes is None else minutes * 60.0
        self._saved_at = self._asked_at = clock()
        self._every = 1  # steps from one exchange to the next
        self._steps = 0  # since the last exchange

    def after_step(self) -> Decision:
        """What is to be done after the step that has just ended; mostly nothing, unasked."""
        self._steps += 1
        if self._steps < self._every:
            return Decision()
        pace = self._steps / max(self._clock() - self._asked_at, 1e-6)
        said = self._exchange(pace)
        if self._ranks.size > 1:
            wanted = int(said[0].pace * SECONDS_BETWEEN)
            self._every = max(1, min(wanted, self._every * _MOST_GROWTH))
        return _decided(said)

    def after_epoch(self) -> Decision:
        """The same where an epoch has ended, after which there is always an exchange."""
        return _decided(self._exchange(0.0))

    def saved(self) -> None:
        """A checkpoint has been written: the minutes begin anew."""
        self._saved_at = self._clock()

    def _exchange(self, pace: float) -> list[_Word]:
        due = self._seconds is not None and self._clock() - self._saved_at >= self._seconds
        word = _Word(bool(self._requested()), due, pace)
        said = self._ranks.gather(word) if self._ranks.size > 1 else [word]
        self._steps, self._asked_at = 0, self._clock()
        return said


class _Word(NamedTuple):
    stop: bool
    due: bool
    pace: float


def _decided(said: list[_Word]) -> Decision:
    return Decision(said[0].due, tuple(rank for rank, word in enumerate(said) if word.stop))
