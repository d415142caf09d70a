"""Lines of a host's log: a list, or made on demand so that ten million cost no memory."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Iterable
from typing import Protocol


class Lines(Protocol):
    """Lines in the order they were written, reachable by number.

    A line is (milliseconds after the start of training, text); the milliseconds never go down.
    """

    def __len__(self) -> int:
        """How many there are by now."""

    def at(self, index: int) -> tuple[int, str]:
        """One of them."""


class Listed:
    """Lines from a list of (milliseconds, text), or of texts, ``apart`` milliseconds apart."""

    def __init__(self, lines: Iterable[tuple[int, str] | str], apart: int = 1000):
        self._lines = [
            (index * apart, line) if isinstance(line, str) else line
            for index, line in enumerate(lines)
        ]

    def __len__(self) -> int:
        return len(self._lines)

    def at(self, index: int) -> tuple[int, str]:
        """See :class:`Lines`."""
        return self._lines[index]


class Generated:
    """``count`` lines, each made when it is asked for.

    Args:
        make: Index -> (milliseconds, text); the same for the same index.
    """

    def __init__(self, count: int, make: Callable[[int], tuple[int, str]]):
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    def at(self, index: int) -> tuple[int, str]:
        """See :class:`Lines`."""
        return self._make(index)


class Growing:
    """Lines that come while the job runs."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str]] = []
        self._lock = threading.Lock()

    def add(self, milliseconds: int, text: str) -> None:
        """One more; a time before the last line's becomes the last line's."""
        with self._lock:
            last = self._lines[-1][0] if self._lines else 0
            self._lines.append((max(last, milliseconds), text))

    def __len__(self) -> int:
        return len(self._lines)

    def at(self, index: int) -> tuple[int, str]:
        """See :class:`Lines`."""
        return self._lines[index]


def lines_of(source: Lines | Iterable[tuple[int, str] | str], apart: int = 1000) -> Lines:
    """``source`` as :class:`Lines`; a plain list becomes :class:`Listed`."""
    if isinstance(source, (Listed, Generated, Growing)) or hasattr(source, "at"):
        return source  # type: ignore[return-value]
    return Listed(source, apart)


def first_from(lines: Lines, milliseconds: int, end: int) -> int:
    """The first of the lines before ``end`` whose time is ``milliseconds`` or later."""
    return bisect.bisect_left(range(end), milliseconds, key=lambda index: lines.at(index)[0])
