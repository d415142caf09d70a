"""Which of many short texts stand in a long one: by a native matcher, or by Python alone.

Where google-re2 is installed it looks for all of them at once in large texts; without it the result
is the same, and takes several times as long.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import cache
from typing import Any

# Below this, importing the native matcher costs more than it gains.
NATIVE_FROM = 256 << 10  # bytes
# Up to this, a text is searched for the beginnings of all at once.
SHORT = 256  # bytes
LONG = 20
RUN_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_-+/.=~")
_AS_RUNS = bytes(ord("a") if chr(byte) in RUN_CHARACTERS else ord(" ") for byte in range(256))


def present(
    data: bytes, anchors: tuple[bytes, ...], unbroken: frozenset[bytes] = frozenset()
) -> Sequence[bytes]:
    """Those of ``anchors`` that stand in ``data``, in their order.

    Args:
        unbroken: Those that count only within :data:`LONG` or more :data:`RUN_CHARACTERS`; of
            these, one that stands in fewer may or may not be given.
    """
    if len(data) <= SHORT:
        return _present_in_short(data, anchors)
    native = _native(anchors) if len(data) >= NATIVE_FROM else None
    if native is not None:
        return [anchors[index] for index in sorted(native.Match(data))]
    within_runs, anywhere = _split(anchors, unbroken)
    found = {anchor for anchor in anywhere if anchor in data}
    runs = _long_runs(data)
    if runs:
        found.update(anchor for anchor in within_runs if anchor in runs)
    return [anchor for anchor in anchors if anchor in found] if found else []


def _present_in_short(data: bytes, anchors: tuple[bytes, ...]) -> Sequence[bytes]:
    """The same for a value of a document or an argument: most hold the beginning of none."""
    size, starts = _beginnings(anchors)
    here = {data[at : at + size] for at in range(len(data) - size + 1)} & starts.keys()
    found = {anchor for start in here for anchor in starts[start] if anchor in data}
    return [anchor for anchor in anchors if anchor in found] if found else []


@cache
def _beginnings(anchors: tuple[bytes, ...]) -> tuple[int, dict[bytes, list[bytes]]]:
    """How many bytes each has at least, three at most, and the anchors by so many first ones."""
    size = min(3, *map(len, anchors))
    found: dict[bytes, list[bytes]] = {}
    for anchor in anchors:
        found.setdefault(anchor[:size], []).append(anchor)
    return size, found


@cache
def _split(
    anchors: tuple[bytes, ...], unbroken: frozenset[bytes]
) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Those that count within long runs alone, and the others."""
    within = tuple(anchor for anchor in anchors if anchor in unbroken)
    return within, tuple(anchor for anchor in anchors if anchor not in unbroken)


@cache
def _native(anchors: tuple[bytes, ...]) -> Any:
    try:
        import re2
    except ImportError:  # no wheel for this machine
        return None
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.literal = True
    made = re2.Set.SearchSet(options)
    for anchor in anchors:
        made.Add(anchor)
    made.Compile()
    return made


def _long_runs(data: bytes) -> bytes:
    """The unbroken runs in which a token can stand, one a line: a tenth of ordinary source.

    Finding them by a translation table and one long needle costs a fifth of searching the whole
    text for every anchor.
    """
    mapped = data.translate(_AS_RUNS) + b" "
    needle, runs = b"a" * LONG, []
    at = mapped.find(needle)
    while at >= 0:
        end = mapped.find(b" ", at + LONG)
        runs.append(data[at:end])
        at = mapped.find(needle, end)
    return b"\n".join(runs)
