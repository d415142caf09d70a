"""Predictions averaged over a picture and augmented copies of it."""

from __future__ import annotations

import hashlib
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from .arrays import Array
from .pictures import augmenting


def averaged(
    predict: Callable[[Array], Any],
    images: Array,
    *,
    copies: int,
    augment: Sequence[str],
    seed: int,
) -> Array:
    """The mean of what ``predict`` says of each picture and of its copies: (n, classes) float64.

    A picture's copies are drawn by the seed and its pixels, so the mean is the same whoever
    computes it and in whichever batch, and a result doesn't depend on the number of ranks.

    Args:
        predict: Gives (n, classes) probabilities for (n, rows, columns, channels) float32.
        images: (n, rows, columns, 1 or 3), uint8 or float32 of 0 to 255.
        copies: Augmented copies of each picture; for 0 it is the prediction itself.
        augment: Of pictures.augmenting.KINDS.
        seed: Of what is drawn.
    """
    total = np.asarray(predict(images.astype(np.float32)), dtype=np.float64)
    for copied in _copies(images, copies, augment, seed):
        total = total + np.asarray(predict(copied), dtype=np.float64)
    return total / (copies + 1)


def _copies(images: Array, copies: int, augment: Sequence[str], seed: int) -> Iterator[Array]:
    """One augmented copy of all pictures at a time, float32, which bounds the memory."""
    if not copies:
        return
    from PIL import Image

    grey = images.shape[-1] == 1
    pixels = np.rint(images).astype(np.uint8)
    names = [hashlib.blake2b(picture.tobytes(), digest_size=16).hexdigest() for picture in pixels]
    for number in range(1, copies + 1):
        copied = np.empty(images.shape, np.float32)
        for place, name in enumerate(names):
            picture = Image.fromarray(pixels[place, :, :, 0] if grey else pixels[place])
            source = augmenting.draws(seed, name, number)
            made = np.asarray(augmenting.augmented(picture, augment, source))
            copied[place] = made.reshape(images.shape[1:])
        yield copied
