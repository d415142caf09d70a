"""Where a text has the shape of a credential.

A text is searched for the anchors of all shapes, and a shape's regular expression is tried only
where one of its own stands, so that a megabyte of ordinary source costs milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from launchers.core.credentials.anchors import RUN_CHARACTERS, present
from launchers.core.credentials.shapes import SHAPES

_SHAPES_OF: dict[bytes, list[int]] = {}
for _number, _shape in enumerate(SHAPES):
    for _anchor in _shape.anchors:
        _SHAPES_OF.setdefault(_anchor.encode(), []).append(_number)
ANCHORS: tuple[bytes, ...] = tuple(_SHAPES_OF)
_UNBROKEN: frozenset[bytes] = frozenset(
    anchor
    for anchor, numbers in _SHAPES_OF.items()
    if set(anchor.decode()) <= RUN_CHARACTERS and all(SHAPES[number].unbroken for number in numbers)
)


class Match(NamedTuple):
    """One place in a text that has a credential's shape; ``start`` and ``end`` are offsets."""

    start: int
    end: int
    kind: str
    literal: str | None


def matches(text: str, *, strict: bool = False) -> Iterator[Match]:
    """Every place in ``text`` that has one of :data:`SHAPES`, shape by shape.

    Args:
        text: Of any length.
        strict: Only shapes that no random bytes have (:attr:`Shape.strict`).
    """
    anchors = anchors_in(text.encode("utf-8", "replace"))
    yield from matches_of(text, anchors, strict=strict)


def anchors_in(data: bytes) -> Sequence[bytes]:
    """Those of :data:`ANCHORS` with which a shape in ``data`` may begin."""
    return present(data, ANCHORS, _UNBROKEN)


def matches_of(text: str, anchors: Collection[bytes], *, strict: bool = False) -> Iterator[Match]:
    """The same, where it is known which of :data:`ANCHORS` stand in ``text``."""
    if not anchors:
        return
    wanted = {shape for anchor in anchors for shape in _SHAPES_OF[anchor]}
    for number in sorted(wanted):
        shape = SHAPES[number]
        if strict and not shape.strict:
            continue
        for anchor in shape.anchors:
            at = text.find(anchor)
            while at >= 0:
                found = _compiled(shape.pattern).match(text, at)
                if found:
                    literal = found.groupdict().get("literal")
                    yield Match(at, found.end(), shape.kind, literal)
                at = text.find(anchor, at + len(anchor))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
