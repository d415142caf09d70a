"""Connections that have not said yet whose they are: how many there may be, and for how long.

When there are too many, not the newest one has to go but the oldest of the address that has most:
so a stranger's flood displaces the stranger's own, and a host of the job, which says at once who it
is, is let in. No clock and no sockets.
"""

from __future__ import annotations

from collections import Counter

MOST = 128
PATIENCE_SECONDS = 5.0


class WaitingRoom:
    """Connections by a number of their own, each with the address that it comes from.

    Args:
        most: How many there may be.
        patience: Seconds that each has.
    """

    def __init__(self, most: int = MOST, patience: float = PATIENCE_SECONDS):
        self._most, self._patience = most, patience
        self._waiting: dict[int, tuple[str, float]] = {}  # oldest first

    def enter(self, number: int, address: str, now: float) -> int | None:
        """One more waits; the number of the one that has to go for it, or None."""
        self._waiting[number] = (address, now)
        if len(self._waiting) <= self._most:
            return None
        counts = Counter(each for each, _ in self._waiting.values())
        crowd = max(counts, key=lambda each: counts[each])
        return next(one for one, (each, _) in self._waiting.items() if each == crowd)

    def leave(self, number: int) -> None:
        """It waits no more."""
        self._waiting.pop(number, None)

    def overdue(self, now: float) -> list[int]:
        """Those whose time is over."""
        return [
            number
            for number, (_, entered) in self._waiting.items()
            if now - entered >= self._patience
        ]

    def __len__(self) -> int:
        return len(self._waiting)
