"""Augmented copies of a picture: other crops, flips, rotations, colours, drawn by seed.

What is drawn depends on the seed, the picture's name and the copy's number alone, and comes from
Python's own generator, whose ``random()`` is the same in every version.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any, Sequence

from . import resizing

KINDS = ("crop", "flip", "rotate", "zoom", "color")
LEAST_CROP = 0.7  # of width and of height
MOST_DEGREES = 15.0
MOST_ZOOM = 0.2  # of width and height, in or out
COLOR_RANGE = (0.8, 1.2)  # of brightness, contrast and saturation


def draws(seed: int, name: str, number: int) -> random.Random:
    """The source of what is drawn for copy ``number`` of the picture of that name."""
    key = f"{seed}\n{number}\n{name}".encode("utf-8", "surrogateescape")
    return random.Random(int.from_bytes(hashlib.blake2b(key, digest_size=16).digest(), "big"))


def augmented(
    image: Any,
    kinds: Sequence[str],
    source: random.Random,
    size: tuple[int, int] | None = None,
    fit: str = "crop",
) -> Any:
    """An augmented copy of a Pillow image of mode "L" or "RGB".

    Args:
        image: The original, which stays as it is.
        kinds: Of KINDS. Crop: a part of at least LEAST_CROP of each side, anywhere. Flip: left to
            right, every second one. Rotate: up to MOST_DEGREES either way. Zoom: about the middle,
            up to MOST_ZOOM in or out. Black where nothing was.
            Color: brightness, contrast and saturation, each within COLOR_RANGE.
        source: What is drawn from; always drawn in the same order.
        size: (width, height) of the copy; None: the original's.
        fit: How the original comes to that size.
    """
    from PIL import Image

    share, left, top = (source.random() for _ in range(3))
    flip, turn = source.random() < 0.5, source.random()
    colors = [source.random() for _ in range(3)]
    zoom = source.random()
    if "crop" in kinds:
        share = LEAST_CROP + (1 - LEAST_CROP) * share
        image = _part(image, size or image.size, share, left, top, fit)
    elif size is not None:
        image = resizing.resized(image, size, fit)
    if "flip" in kinds and flip:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if "rotate" in kinds:
        image = image.rotate((2 * turn - 1) * MOST_DEGREES, Image.Resampling.BILINEAR)
    if "zoom" in kinds:
        image = _zoomed(image, 1 + (2 * zoom - 1) * MOST_ZOOM)
    return _colored(image, colors) if "color" in kinds else image


def _part(
    image: Any, size: tuple[int, int], share: float, left: float, top: float, fit: str
) -> Any:
    """``share`` of the width and height of what would be seen, at ``size``."""
    from PIL import Image

    if fit == "pad":  # the borders belong to what is seen
        image = resizing.resized(image, size, fit)
    seen = (0.0, 0.0, *image.size)
    if fit == "crop":
        seen = resizing.centre_box(image.size, size)
    width, height = (seen[2] - seen[0]) * share, (seen[3] - seen[1]) * share
    across = seen[0] + left * (seen[2] - seen[0] - width)
    down = seen[1] + top * (seen[3] - seen[1] - height)
    box = (across, down, min(across + width, image.size[0]), min(down + height, image.size[1]))
    return image.resize(size, Image.Resampling.BILINEAR, box=box)


def _zoomed(image: Any, share: float) -> Any:
    """``share`` of the width and height about the middle, at the size that the image has."""
    from PIL import Image

    width, height = image.size
    left, top = (1 - share) * width / 2, (1 - share) * height / 2
    how = (share, 0, left, 0, share, top)
    return image.transform(image.size, Image.Transform.AFFINE, how, Image.Resampling.BILINEAR)


def _colored(image: Any, colors: Sequence[float]) -> Any:
    from PIL import ImageEnhance

    least, most = COLOR_RANGE
    factors = [least + (most - least) * color for color in colors]
    image = ImageEnhance.Brightness(image).enhance(factors[0])
    image = ImageEnhance.Contrast(image).enhance(factors[1])
    return image if image.mode == "L" else ImageEnhance.Color(image).enhance(factors[2])
