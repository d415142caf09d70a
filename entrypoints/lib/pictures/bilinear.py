"""Arrays of pictures at another size, to the same numbers as ``tf.image.resize`` gives them."""

from __future__ import annotations

from typing import Sequence

import numpy as np

from ..arrays import Array


def resized(images: Array, size: Sequence[int]) -> Array:
    """The pictures at ``size``, float32, by the four pixels around each point (not filtered).

    Args:
        images: (n, rows, columns, channels).
        size: (rows, columns).
    """
    by_rows = _along(images.astype(np.float32), 1, size[0])
    return _along(by_rows, 2, size[1])


def _along(images: Array, axis: int, length: int) -> Array:
    had = images.shape[axis]
    places = ((np.arange(length, dtype=np.float32) + np.float32(0.5)) * np.float32(had / length)
              - np.float32(0.5))  # fmt: skip
    below = np.floor(places)
    part = (places - below).reshape([-1 if at == axis else 1 for at in range(images.ndim)])
    low = images.take(np.clip(below, 0, had - 1).astype(np.int64), axis)
    high = images.take(np.clip(np.ceil(places), 0, had - 1).astype(np.int64), axis)
    found: Array = low + (high - low) * part
    return found
