"""Encoded pictures of many kinds, made on the spot."""

from __future__ import annotations

import io
import random
from typing import Any

from PIL import Image


def image(width: int = 40, height: int = 30, mode: str = "RGB", seed: int = 1) -> Image.Image:
    """Soft colours that a JPEG keeps well."""
    draw = random.Random(f"{width} {height} {seed}")
    small = Image.new("RGB", (4, 4))
    small.putdata([tuple(draw.randrange(256) for _ in range(3)) for _ in range(16)])
    return small.resize((width, height), Image.Resampling.BICUBIC).convert(mode)


def encoded(picture: Image.Image, kind: str = "JPEG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def jpeg(width: int = 40, height: int = 30, seed: int = 1, **options: Any) -> bytes:
    return encoded(image(width, height, seed=seed), **options)


def opened(content: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(content))
    picture.load()
    return picture


def turned(width: int, height: int, orientation: int, kind: str = "JPEG", **options: Any) -> bytes:
    """A picture whose upper left corner is red as stored, with that EXIF orientation."""
    picture = Image.new("RGB", (width, height), "blue")
    picture.paste("red", (0, 0, width // 2, height // 2))
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(picture, kind, exif=exif, **{"quality": 95, **options})
