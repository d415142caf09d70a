"""Why a job ended, in one line, read from its output: known lines and the first traceback."""

from __future__ import annotations

import re
from collections.abc import Sequence

from launchers.core.model.containers import Cause
from launchers.core.model.jobs import LogLine
from launchers.image.start_faults import start_fault

_TRACEBACK = "Traceback (most recent call last)"
_LONGEST = 300


class Causes:
    """Watches a job's lines for what explains its end.

    Args:
        known: The provider's table, the most telling first.
    """

    def __init__(self, known: Sequence[Cause]):
        self._known = [(re.compile(cause.pattern), cause) for cause in known]
        self._found: dict[int, str] = {}  # place in the table -> text, the first time
        self._open: set[tuple[str, int | None]] = set()  # whose traceback is not over
        self._start = ""
        self._of_rank = ""
        self._of_container = ""

    def see(self, line: LogLine) -> None:
        """Take one line into account."""
        for place, (pattern, cause) in enumerate(self._known):
            if place not in self._found and (match := pattern.search(line.text)):
                self._found[place] = cause.text.format(*match.groups())
        if line.rank is None and not self._start and line.text.startswith("exec "):
            self._start = start_fault(line.text)
        self._see_traceback(line)

    @property
    def text(self) -> str:
        """The best explanation of a bad end, or an empty string."""
        strong = [
            text for place, text in sorted(self._found.items()) if not self._cause(place).weak
        ]
        weak = [text for place, text in sorted(self._found.items()) if self._cause(place).weak]
        for candidate in (*strong, self._start, self._of_rank, *weak, self._of_container):
            if candidate:
                return candidate
        return ""

    @property
    def warnings(self) -> list[str]:
        """What is worth saying after a good end, too."""
        return [text for place, text in sorted(self._found.items()) if self._cause(place).warns]

    def _cause(self, place: int) -> Cause:
        return self._known[place][1]

    def _see_traceback(self, line: LogLine) -> None:
        """The line that ends a traceback is the first that is neither indented nor empty."""
        key = (line.host, line.rank)
        if line.text.startswith(_TRACEBACK):
            self._open.add(key)
        elif key in self._open and line.text.strip() and not line.text.startswith((" ", "\t")):
            self._open.discard(key)
            text = line.text[:_LONGEST]
            if line.rank is None:
                self._of_container = self._of_container or f"{line.host}: {text}"
            else:
                self._of_rank = self._of_rank or f"rank {line.rank} on {line.host}: {text}"
