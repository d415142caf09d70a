"""Which questions have been asked before: none is heard twice. No clock and no sockets.

An agent's questions may arrive out of order, since its threads each have a connection; not by more
than ``WINDOW``.
"""

from __future__ import annotations

WINDOW = 4096
MOST_STARTS = 1000  # of one host's agent; a service gives up long before


class Counters:
    """What was heard of each start of each sender. Not safe for several threads."""

    def __init__(self) -> None:
        self._seen: dict[int, dict[str, tuple[int, int]]] = {}

    def take(self, sender: int, start: str, count: int) -> bool:
        """Whether this question is a new one; from now on it is not."""
        starts = self._seen.setdefault(sender, {})
        if count < 1 or (start not in starts and len(starts) >= MOST_STARTS):
            return False
        # Bit n of ``bits``: whether the question n before the highest one was heard.
        highest, bits = starts.get(start, (0, 0))
        if count > highest:
            moved = count - highest
            bits = (bits << moved | 1) & ((1 << WINDOW) - 1) if moved < WINDOW else 1
            starts[start] = (count, bits)
            return True
        behind = highest - count
        if behind >= WINDOW or bits >> behind & 1:
            return False
        starts[start] = (highest, bits | 1 << behind)
        return True
