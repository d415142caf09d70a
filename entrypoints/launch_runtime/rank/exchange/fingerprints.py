"""A few floats that two ranks can compare instead of a whole variable.

The norm of the values and their projections on three fixed directions of signs: the projection of
a difference is about as long as the difference itself, whatever its direction. Rounding moves
them in the sixth digit, other start weights in the first.
"""

from __future__ import annotations

import base64
import struct
import sys
from typing import Any, Sequence

FLOATS = 4  # the norm and three projections
MOST_VALUES = 1 << 24  # of one variable that are looked at; the first ones
MOST_VARIABLES = 256  # of one optimizer; the largest ones
# The same of gradients, which are looked at in the middle of a training.
MOST_APPLIED, MOST_APPLIED_VALUES = 16, 1 << 20
SECONDS = 5.0  # for all of a rank
_ROW = 4099  # a prime, so that no layer's width is in step with it
_CHUNK = 256 * _ROW  # values at a time
_NOTHING = struct.pack(f"<{FLOATS}f", *([float("nan")] * FLOATS))

_directions: Any = None


def of(values: Any) -> bytes:
    """The floats of an array of numbers, little endian, 4 bytes each.

    Args:
        values: A NumPy array of any shape and real type.
    """
    numpy = sys.modules["numpy"]
    flat = values.reshape(-1)
    total, square = numpy.zeros(FLOATS - 1), 0.0
    for number, start in enumerate(range(0, flat.size, _CHUNK)):
        chunk = numpy.asarray(flat[start : start + _CHUNK], dtype=numpy.float32)
        square += float(numpy.dot(chunk, chunk))
        rows = chunk.size // _ROW
        if rows:
            whole = chunk[: rows * _ROW].reshape(rows, _ROW) @ _signs(numpy)
            total += (whole * _row_signs(numpy, number, rows)).sum(axis=0, dtype=numpy.float64)
        rest = chunk[rows * _ROW :]
        if rest.size:
            total += rest @ _signs(numpy)[: rest.size]
    return struct.pack(f"<{FLOATS}f", square**0.5, *total.tolist())


def joined(prints: Sequence[bytes | None]) -> str:
    """The floats of several variables as text; NaN for one that could not be read."""
    return base64.b64encode(b"".join(one or _NOTHING for one in prints)).decode()


def chosen(elements: Sequence[int], most: int = MOST_VARIABLES) -> list[int]:
    """The indices of the variables to compare: all, or the largest, in order."""
    indices = range(len(elements))
    if len(elements) <= most:
        return list(indices)
    largest = sorted(indices, key=lambda index: (-elements[index], index))[:most]
    return sorted(largest)


def _signs(numpy: Any) -> Any:
    """Shape (_ROW, FLOATS - 1), the same on every rank."""
    global _directions
    if _directions is None:
        random = numpy.random.RandomState(20260117)
        drawn = random.randint(0, 2, (_ROW, FLOATS - 1))
        _directions = (drawn * 2 - 1).astype(numpy.float32)
    return _directions


def _row_signs(numpy: Any, number: int, rows: int) -> Any:
    random = numpy.random.RandomState(number)
    return (random.randint(0, 2, (rows, FLOATS - 1)) * 2 - 1).astype(numpy.float32)
