"""Looks for credentials in a file that goes by in pieces, of any size."""

from __future__ import annotations

from launchers.core.credentials.aws import KEY_ID, secret_keys_beside
from launchers.core.credentials.matching import Match, anchors_in, matches_of
from launchers.core.credentials.names import is_literal

_OVERLAP = 4096  # bytes of a piece that are seen once more with the next one
_MOST = 20  # of one file: what follows says nothing more


class StreamSearch:
    """Looks for all shapes in a text, and for those that no random bytes have in anything else.

    What needs more than a shape (assignments, base64) is not looked for here.

    Attributes:
        found: Line (from 1; byte offset in a binary file) -> kind.
        binary: Whether a NUL byte has gone by.
    """

    def __init__(self) -> None:
        self.found: dict[int, str] = {}
        self.binary = False
        self._rest = b""
        self._lines = 0  # before the rest
        self._offset = 0  # of the rest

    def feed(self, piece: bytes) -> None:
        """Takes the next bytes."""
        self.binary = self.binary or b"\0" in piece
        data = self._rest + piece
        if len(self.found) < _MOST:
            self._look(data)
        self._rest = data[-_OVERLAP:]
        gone = len(data) - len(self._rest)
        self._offset += gone
        self._lines += 0 if self.binary else data.count(b"\n", 0, gone)

    def _look(self, data: bytes) -> None:
        anchors = anchors_in(data)
        if not anchors:
            return
        text = data.decode("latin-1")
        for match in matches_of(text, anchors, strict=self.binary):
            if match.literal is None or is_literal(match.literal):
                self._keep(data, match)
            if match.kind == KEY_ID and not self.binary:
                for secret in secret_keys_beside(text, match.start):
                    self._keep(data, secret)

    def _keep(self, data: bytes, match: Match) -> None:
        before = 0 if self.binary else data.count(b"\n", 0, match.start) + 1
        place = before + (self._offset + match.start if self.binary else self._lines)
        self.found.setdefault(place, match.kind)
