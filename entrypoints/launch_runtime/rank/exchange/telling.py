"""When the records of a process are due, and what stands in them."""

from __future__ import annotations

import os
import time
from typing import Any, Callable

from launch_runtime.rank.exchange import devices
from launch_runtime.rank.exchange.samples import Samples
from launch_runtime.rank.exchange.seen import Unclaimed
from launch_runtime.rank.exchange.trained_sets import TrainedSets

Send = Callable[["dict[str, Any]"], None]

BEFORE, DURING, AFTER = "before", "during", "after"
INITIALISED, SHUT_DOWN = "initialised", "shut-down"

_PAUSE_SECONDS = 60.0  # between two records, but for the last one


class Telling:
    """The records of this process.

    Args:
        send: Takes each (see ``launch_runtime/evidence/records.py``).
        sets: What is trained.
        unclaimed: Exchanges that belong to no variable.
        samples: What it is trained on.

    Attributes:
        phase: ``BEFORE`` the world is joined, ``DURING`` it, ``AFTER``.
        joined: Whether this rank may have fewer steps than others.
        calls: Collectives that Python has called.
    """

    def __init__(self, send: Send, sets: TrainedSets, unclaimed: Unclaimed, samples: Samples):
        self._send, self._pid = send, os.getpid()
        self._sets, self._unclaimed, self._samples = sets, unclaimed, samples
        self.phase = BEFORE
        self.joined, self.calls = False, 0
        self._called_after = 0
        self._sent_at = float("-inf")
        self._finished = False
        self._last: dict[str, Any] | None = None
        self._is_in_course = self._has_used_gpu = False

    def world(self, state: str) -> None:
        """``INITIALISED`` once this process has joined it, ``SHUT_DOWN`` once it has left."""
        self.phase = DURING if state == INITIALISED else AFTER
        self._finished = self._finished and state != INITIALISED

    def called(self) -> None:
        """Python calls a collective."""
        self.calls += 1
        if self._sets:
            self._called_after += 1

    def news(self) -> None:
        """Something went to other ranks: a record at the first time, and then once a minute."""
        now = time.monotonic()
        if now - self._sent_at < _PAUSE_SECONDS:
            return
        self._sent_at = now
        self._send(self._record(weights=False))

    def in_course(self) -> None:
        """Training has gone on for some steps: a record with what is trained, once."""
        if self._is_in_course or not any(v.groups for one in self._sets for v in one.variables):
            return
        self._is_in_course = True
        self._send(self._record(weights=False))

    def last(self) -> None:
        """Reads the weights and sends the last record; once more where there is more to tell."""
        # Once the world is gone, weights are those of that moment.
        record = self._record(weights=not self._finished)
        self._finished = self._finished or self.phase != BEFORE
        if record == self._last:
            return
        self._last = record
        self._send(record)

    def _is_rare(self) -> bool:
        """Whether such exchanges were made at less than half of the steps."""
        steps = [one.steps() for one in self._sets]
        known = [count for count in steps if count is not None]
        counted = bool(known) and len(known) == len(steps) and not self._unclaimed.is_uncounted
        return counted and 2 * self._unclaimed.count < max(known)

    def _record(self, weights: bool) -> dict[str, Any]:
        last, use = weights or self._finished, devices.look(os.environ)
        self._has_used_gpu |= use.is_some  # which a script may have given back by now
        return {
            "pid": self._pid,
            "final": last,
            "joined": self.joined,
            "called_after": self._called_after,
            "rare": self._is_rare(),
            "devices": use.names if last else [],
            "idle_gpu": "" if self._has_used_gpu else use.idle,
            "other": [list(entry) for entry in self._unclaimed.largest],
            "samples": self._samples.record(),
            "sets": self._sets.record(weights, last),
        }
