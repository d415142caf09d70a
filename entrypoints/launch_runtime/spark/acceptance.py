"""The wait until a cluster has accepted the application.

SparkContext's constructor blocks until then: as long as YARN's queue is full, a minute where a
standalone master takes connections and does not answer. Nothing but Spark's log tells of it.
"""

from __future__ import annotations

import math
from typing import Callable

from launch_runtime.failures import JOINING, Failure

_FIX = (
    "see the cluster manager's own page and Spark's log: its queue may be full, or --master may "
    "name what is no master; or wait longer: --limit slots=TIME"
)


class Acceptance:
    """One such wait. Does not block: whoever has a clock looks now and then.

    Args:
        seconds: How long it may last.
        reminder: Seconds between two words of it.
        say: Takes a line for people.
        now: When it began, of the clock that :meth:`look` is told.
    """

    def __init__(self, seconds: float, reminder: float, say: Callable[[str], None], now: float):
        self._seconds, self._reminder, self._say = seconds, reminder, say
        self._start = self._said = now

    def look(self, now: float) -> Failure | None:
        """Says that it still lasts, where it is time for that; a failure once it is over."""
        waited = now - self._start
        if waited >= self._seconds:
            what = f"the cluster has not accepted the application within {self._seconds:g} s"
            return Failure("driver", what, JOINING, fix=_FIX)
        if now - self._said >= self._reminder:
            left = math.ceil(self._seconds - waited)
            self._say(f"waiting for the cluster to accept the application; up to {left} s more")
            self._said = now
        return None
