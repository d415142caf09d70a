"""A sink that keeps what it is sent, and fails, refuses or hangs when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from entrypoints.lib.tracking.records import Record
from entrypoints.lib.tracking.sender import RefusedError

PATIENCE_SECONDS = 60.0


class Recording:
    """What a server would be: ``state`` is ``well``, ``away``, ``hangs`` or ``refuses``."""

    title, link = "the recording", "the recording's page"

    def __init__(self, state: str = "well", refused: str = ""):
        self.state, self.refused = state, refused
        self.taken: list[Record] = []
        self.calls: list[int] = []  # of how many records each was
        self.asked = threading.Semaphore(0)  # released with each attempt
        self.released = threading.Event()  # ends the attempts that hang

    def about(self) -> Mapping[str, Any]:
        return {"kept": "recording"}

    def send(self, records: Sequence[Record]) -> None:
        self.asked.release()
        self.calls.append(len(records))
        if self.state == "hangs":
            assert self.released.wait(PATIENCE_SECONDS)
        if self.state in ("away", "hangs"):
            raise ConnectionError("Connection refused")
        if any(self.refused and self.refused in str(one) for one in records):
            raise RefusedError("it says so")
        self.taken += records

    def wait_for_attempt(self) -> None:
        """Returns once the thread is, or was, in one more call."""
        assert self.asked.acquire(timeout=PATIENCE_SECONDS)

    def kinds(self) -> list[str]:
        """What it has taken, in order."""
        return [one["what"] for one in self.taken]
