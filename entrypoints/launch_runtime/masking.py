"""Takes the values of secrets out of bytes that go by, wherever a read or a write has cut them."""

from __future__ import annotations

import json
import string
from typing import Iterable

MASK = b"***"
SHORTEST = 4  # characters; a shorter one stands everywhere in ordinary text
_LONGEST = 32 << 10  # bytes of one part; longer ones are looked for piece by piece
_MOST_HELD = 256 << 10  # bytes; a text that could go on being a secret for ever is not waited for


def parts(value: str) -> list[str]:
    """What is looked for of a secret's ``value``: each of its lines, as it is, and as JSON and a
    URL have it. Lines below :data:`SHORTEST` are left out."""
    found: dict[str, None] = {}
    for line in value.splitlines():
        bare = line.strip()
        for form in (bare, json.dumps(bare)[1:-1], _quoted(bare)):
            for start in range(0, len(form), _LONGEST):
                piece = form[start : start + _LONGEST]
                if len(piece) >= SHORTEST:
                    found[piece] = None
    return list(found)


class Masker:
    """Masks values in a stream of bytes.

    What could be the beginning of a value is held back until it is known whether it is one.

    Args:
        values: From :func:`parts`.
    """

    def __init__(self, values: Iterable[str]):
        self._values = {value.encode("utf-8", "surrogateescape") for value in values}
        self._rest = b""

    def add(self, values: Iterable[str]) -> None:
        """Masks these from now on, too."""
        # A new set: another thread may be going through the old one.
        self._values = self._values | {value.encode("utf-8", "surrogateescape") for value in values}

    def feed(self, data: bytes) -> bytes:
        """What of the stream can be shown, now that ``data`` has come."""
        text = self._rest + data
        spans = self._spans(text)
        held = self._beginning(text)
        for start, end in reversed(spans):
            # One that the held bytes overlap is seen whole once they are known.
            if start < held < end:
                held = start
        if len(text) - held > _MOST_HELD:
            held = len(text)
        self._rest = text[held:]
        return _without(text[:held], [span for span in spans if span[1] <= held])

    def flush(self) -> bytes:
        """The last bytes, once the stream has ended."""
        text, self._rest = self._rest, b""
        return self.mask(text)

    def mask(self, text: bytes) -> bytes:
        """``text`` without the values that stand in it whole; the stream is left as it is."""
        return _without(text, self._spans(text))

    def _spans(self, text: bytes) -> list[tuple[int, int]]:
        """Where values stand, in order; those that touch or overlap are one."""
        found = []
        for value in self._values:
            at = text.find(value)
            while at >= 0:
                found.append((at, at + len(value)))
                at = text.find(value, at + 1)
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def _beginning(self, text: bytes) -> int:
        """Where the longest end of ``text`` starts that a value could begin with."""
        held = len(text)
        for value in self._values:
            at = text.find(value[:1], max(0, len(text) - len(value) + 1))
            while 0 <= at < held:
                if value.startswith(text[at:]):
                    held = at
                at = text.find(value[:1], at + 1)
        return held


def _quoted(text: str) -> str:
    """As urllib.parse.quote has it, which every rank would have to import for this alone."""
    kept = string.ascii_letters + string.digits + "_.-~"
    return "".join(
        chr(byte) if chr(byte) in kept else f"%{byte:02X}"
        for byte in text.encode("utf-8", "surrogateescape")
    )


def _without(text: bytes, spans: list[tuple[int, int]]) -> bytes:
    shown, at = [], 0
    for start, end in spans:
        shown += [text[at:start], MASK]
        at = end
    return b"".join([*shown, text[at:]])
