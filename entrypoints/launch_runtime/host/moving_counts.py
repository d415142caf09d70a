"""Counts in what a rank prints that go up: ``step 5/10``, ``Epoch 2``, ``640/60000``.

A line of progress differs from any other by that: a monitor that prints what it has measured, or a
bar that is drawn anew though nothing was done, moves no count.
"""

from __future__ import annotations

import re

_LOOKED_AT = 1 << 13  # bytes, the newest of each piece
_MOST = 64  # counts that are kept apart
# Not what a monitor says of memory or disk: ``45/80 GB``.
_OF = re.compile(rb"(?<![\d./:-])(\d{1,12})/(\d{1,12})(?![\d/])(?! ?[KMGT]i?B\b)")
_WORD = re.compile(
    rb"\b(step|epoch|iteration|iter|batch)\b[ :=#\[]{0,3}(\d{1,12})\b", re.IGNORECASE
)


class MovingCounts:
    """One rank's. Safe to use from one thread.

    Attributes:
        moves: How often a count went up.
    """

    def __init__(self) -> None:
        self._highest: dict[bytes, int] = {}
        self.moves = 0

    def feed(self, data: bytes) -> bool:
        """Takes what was printed; whether a count of it went up.

        Counts of one total are one count, and so are those behind one word. It may begin again:
        what falls to a half or less has.
        """
        newest, moved = data[-_LOOKED_AT:], False
        for count, key in _OF.findall(newest):
            moved = self._goes_up(key, int(count)) or moved
        for word, count in _WORD.findall(newest):
            moved = self._goes_up(word.lower(), int(count)) or moved
        self.moves += moved
        return moved

    def _goes_up(self, key: bytes, count: int) -> bool:
        before = self._highest.get(key)
        if before is None and len(self._highest) >= _MOST:
            self._highest.pop(next(iter(self._highest)))
        if before is None or count > before or 2 * count <= before:
            self._highest[key] = count
        return before is not None and count > before
