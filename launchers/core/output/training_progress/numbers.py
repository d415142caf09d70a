"""Numbers as logs have them, bounded: what is longer or larger than any training's is none."""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_METRICS = 32  # of one training
_LONGEST_NAME = 60
_LEAST, _MOST = 1e-9, 1e12  # of a rate, and of seconds
_WHOLE = re.compile(r"\d{1,15}")
_REAL = re.compile(
    r"[-+]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][-+]?\d{1,3})?|[-+]?(?:nan|inf)",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(?:(\d{1,6}):)?(\d{1,2}):(\d{2})")
_PLAIN = re.compile(r"(\d{1,9})s")
_HELD_OUT = re.compile(r"(?:val|valid|validation|eval|test)[_ ](?=.)")


def whole(text: str | None) -> int | None:
    """A count, thousands with or without commas."""
    plain = (text or "").strip().replace(",", "")
    return int(plain) if _WHOLE.fullmatch(plain) else None


def real(text: str | None) -> float | None:
    """A number, ``nan`` and ``inf`` among them: a loss may be that."""
    plain = (text or "").strip().replace(",", "")
    if not _REAL.fullmatch(plain):
        return None
    return float(plain)


def positive(text: str | None) -> float | None:
    """A number above 0 that a rate or a time may be; what is divided by it stays finite."""
    value = real(text)
    return value if value is not None and _LEAST <= value <= _MOST else None


def seconds(text: str | None) -> float | None:
    """``5s``, ``01:30`` or ``1:02:03``."""
    plain = (text or "").strip()
    if match := _PLAIN.fullmatch(plain):
        return float(match[1])
    if match := _CLOCK.fullmatch(plain):
        return 3600.0 * int(match[1] or 0) + 60.0 * int(match[2]) + int(match[3])
    return None


def metrics(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Names and values; those that are no numbers are left out, and so are more than can be told.

    Example:
        >>> metrics([("loss", "0.5"), ("val_loss", "0.6"), ("note", "x")])
        {'loss': 0.5, 'validation loss': 0.6}
    """
    found: dict[str, float] = {}
    for name, text in pairs:
        value, plain = real(text), name.strip()
        if value is None or not plain or len(plain) > _LONGEST_NAME or len(found) >= MOST_METRICS:
            continue
        found[_named(plain)] = value
    return found


def _named(name: str) -> str:
    match = _HELD_OUT.match(name)
    if not match:
        return name
    return f"{'test' if match[0].startswith('test') else 'validation'} {name[match.end() :]}"
