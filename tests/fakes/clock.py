"""The time that the fakes go by: this machine's, moved on at a test's wish."""

from __future__ import annotations

import threading
import time


class Clock:
    """Seconds since the epoch.

    Args:
        stopped: The time moves only by :meth:`advance`, from a whole second on.
    """

    def __init__(self, stopped: bool = False):
        self._lock = threading.Lock()
        self._start = float(int(time.time())) if stopped else None
        self._offset = 0.0

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        with self._lock:
            return (time.time() if self._start is None else self._start) + self._offset

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` have gone by."""
        with self._lock:
            self._offset += seconds
