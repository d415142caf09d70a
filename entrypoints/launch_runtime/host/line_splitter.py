"""Whole lines out of the bytes that a rank writes, progress bars too."""

from __future__ import annotations

LINE_LIMIT = 64 << 10  # bytes; a longer line is cut into several
PROGRESS_SECONDS = 10.0  # between two states of a progress bar that are shown


class LineSplitter:
    """Turns bytes as they come into whole lines without their ends.

    A carriage return starts a line anew, as on a terminal: of ``10%\\r20%\\n`` the line is
    ``20%``. A bar that goes on for long without a line end is shown now and then.

    Args:
        limit: The longest line in bytes.
        now: Monotonic seconds.
    """

    def __init__(self, limit: int = LINE_LIMIT, now: float = 0.0):
        self._limit = limit
        self._rest = b""
        self._shown = now

    def feed(self, data: bytes, now: float) -> list[bytes]:
        """The lines that ``data`` completes."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        found = [piece for line in whole for piece in self._cut(_visible(line))]
        overwritten, returned, rest = self._rest.rpartition(b"\r")
        if returned:
            overwritten = _visible(overwritten)
            self._rest = overwritten + b"\r" + rest
        if whole or not returned:
            self._shown = now
        elif overwritten and now - self._shown >= PROGRESS_SECONDS:
            self._shown = now
            found.append(overwritten[: self._limit])
        *pieces, self._rest = self._cut(self._rest)
        return found + pieces

    def flush(self) -> list[bytes]:
        """The last line, where it has no end."""
        last, self._rest = _visible(self._rest), b""
        return self._cut(last) if last else []

    def _cut(self, line: bytes) -> list[bytes]:
        pieces = []
        while len(line) > self._limit:
            end = self._limit
            while end > self._limit - 4 and line[end] & 0xC0 == 0x80:  # inside a UTF-8 character
                end -= 1
            pieces.append(line[:end])
            line = line[end:]
        return [*pieces, line]


def _visible(line: bytes) -> bytes:
    """What a terminal would show last of a line with carriage returns."""
    if b"\r" not in line:
        return line
    return next((state for state in reversed(line.split(b"\r")) if state.strip()), b"")
