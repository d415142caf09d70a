"""The watching of a process: its records, its forks, its end, and mistakes of ours."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from typing import Any, Callable, Iterator

from launch_runtime.rank.exchange.samples import Samples
from launch_runtime.rank.exchange.seen import Unclaimed
from launch_runtime.rank.exchange.telling import Send, Telling
from launch_runtime.rank.exchange.trained_sets import TrainedSets


def quiet(method: Callable[..., Any]) -> Callable[..., Any]:
    """A mistake of ours must not end a training: it ends the watching."""

    @functools.wraps(method)
    def called(self: Watching, *args: Any, **kwargs: Any) -> Any:
        if self.broken or os.getpid() != self._pid:
            return None
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            self.give_up(error)
            return None

    return called


class Watching:
    """What a process has in common, whatever is seen in it.

    Args:
        send: Takes a record (see ``launch_runtime/evidence/records.py``) whenever one is due.

    Attributes:
        broken: Why nothing is seen any more, or "".
    """

    def __init__(self, send: Send):
        self._looks: list[Callable[[], None]] = []  # ahead of every last record
        self._reset(send)
        if hasattr(os, "register_at_fork"):
            # A child has nothing of its parent's training to tell, and may train itself.
            os.register_at_fork(after_in_child=lambda: self._reset(send))

    def _reset(self, send: Send) -> None:
        self._pid, self.broken = os.getpid(), ""
        self._unclaimed = Unclaimed()
        self._sets = TrainedSets(self._unclaimed)
        self._samples = Samples()
        self._telling = Telling(send, self._sets, self._unclaimed, self._samples)
        self._inside = threading.local()
        self._begin()

    def _begin(self) -> None:
        """Nothing was seen in this process."""

    def before_last_word(self, look: Callable[[], None]) -> None:
        """``look`` is called ahead of every last record."""
        self._looks.append(look)

    @quiet
    def joined(self) -> None:
        """``hvd.join()``: from here on this rank may have fewer steps than others."""
        self._telling.joined = True

    def world(self, state: str) -> None:
        """``initialised`` once this process has joined it, ``shut-down`` once it has left."""
        if os.getpid() == self._pid:
            self._telling.world(state)

    @quiet
    def finish(self) -> None:
        """Reads the weights and sends the last record; before the world is left, and at the end."""
        for look in self._looks:
            look()
        self._telling.last()

    def counts(self) -> dict[str, int]:
        """Steps of all optimizers, and collectives that Python has called; from any thread."""
        steps = [one.steps() for one in self._sets]
        known = [count for count in steps if count is not None]
        found = {"steps": sum(known)} if known else {}
        return {**found, "calls": self._telling.calls}

    def give_up(self, error: Exception) -> None:
        """A mistake of ours: nothing is seen any more."""
        self.broken = f"{type(error).__name__}: {error}"

    def is_inside(self, what: str) -> bool:
        """Whether this thread is within a block of :meth:`within`."""
        return bool(getattr(self._inside, what, 0))

    @contextlib.contextmanager
    def within(self, what: str) -> Iterator[None]:
        """A block in which this thread is within ``what``, a word of this package."""
        setattr(self._inside, what, getattr(self._inside, what, 0) + 1)
        try:
            yield
        finally:
            setattr(self._inside, what, getattr(self._inside, what, 1) - 1)
