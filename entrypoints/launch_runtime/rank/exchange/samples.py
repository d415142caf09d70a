"""A few losses and batches as numbers: other ranks that have the same train on the same samples."""

from __future__ import annotations

import math
from typing import Callable

from launch_runtime.rank.exchange import is_looked_at

_MOST = 32  # of each kind: enough for a billion steps


class Samples:
    """Those of one process."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._found: dict[str, list[tuple[int, float]]] = {}

    def note(self, kind: str, read: Callable[[], float]) -> int:
        """One more of a kind; gives its number. ``read`` is called at few of them, and may raise
        anything."""
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        found = self._found.setdefault(kind, [])
        if len(found) >= _MOST or not is_looked_at(count):
            return count
        try:
            value = float(read())
        except Exception:  # no number, or none to be had in this moment
            return count
        if math.isfinite(value):
            found.append((count, value))
        return count

    def record(self) -> dict[str, list[list[float]]]:
        """Kind -> the number of each, from 1 on, and what was read."""
        return {kind: [list(one) for one in found] for kind, found in self._found.items() if found}
