"""Credentials behind one base64: a key that is wrapped so is as good as the key."""

from __future__ import annotations

import base64
import binascii
import string
from collections.abc import Iterator

from launchers.core.credentials.matching import matches
from launchers.core.credentials.names import is_literal

_SHORTEST = 24  # characters; less holds no credential of ours
_CHARACTERS = (string.ascii_letters + string.digits + "+/-_").encode()
_AS_RUNS = bytes(ord("a") if byte in _CHARACTERS else ord(" ") for byte in range(256))
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_GLANCE = 64  # characters, a multiple of 4


def encoded(data: bytes) -> Iterator[tuple[int, str]]:
    """Offset and kind of every run of base64 in ``data`` in which a credential stands."""
    mapped = data.translate(_AS_RUNS) + b" "
    needle = b"a" * _SHORTEST
    at = mapped.find(needle)
    while at >= 0:
        end = mapped.find(b" ", at + _SHORTEST)
        kind = _kind(data[at:end])
        if kind:
            yield at, f"{kind} in base64"
        at = mapped.find(needle, end)


def _kind(run: bytes) -> str:
    # Most runs are identifiers, digests or pictures: their first bytes say so.
    if not _text(run[:_GLANCE]):
        return ""
    for found in matches(_text(run)):
        if found.literal is None or is_literal(found.literal):
            return found.kind
    return ""


def _text(run: bytes) -> str:
    """What ``run`` says decoded; empty where that is no text."""
    whole = run[: len(run) // 4 * 4] if len(run) % 4 == 1 else run + b"=" * (-len(run) % 4)
    try:
        decoded = base64.b64decode(whole.translate(_URL_SAFE), validate=True)
    except (binascii.Error, ValueError):
        return ""
    if not decoded.isascii():
        return ""
    text = decoded.decode("ascii")
    return (
        text if text.replace("\n", " ").replace("\r", " ").replace("\t", " ").isprintable() else ""
    )
