"""Small pictures that can be told apart and learnt: a number in the corner, a class by colour."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from tests.entrypoints.lib.data.places_of_parquet import write_file

CLASSES = 3


def picture(number: int, label: int, side: int = 12) -> bytes:
    """A PNG: noise with one bright colour channel; its number in the first pixel."""
    from PIL import Image

    pixels = np.random.RandomState(number).randint(0, 64, size=(side, side, 3)).astype(np.uint8)
    pixels[:, :, label] |= 192
    pixels[0, 0] = (number % 256, number // 256, 0)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def write_parquet(root: Path, training: int, test: int, *, group: int = 7) -> Path:
    """A place without a manifest: train/ of two files and test/ of one."""
    half = training // 2
    for name, first, last in (
        ("train/part-0.parquet", 0, half),
        ("train/part-1.parquet", half, training),
        ("test/part-0.parquet", training, training + test),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        labels = [number % CLASSES for number in range(first, last)]
        content = [picture(number, number % CLASSES) for number in range(first, last)]
        write_file(root / name, labels, content, group)
    return root


def write_folders(root: Path, count: int, *, side: int = 12) -> Path:
    """Class folders, without splits."""
    for number in range(count):
        label = number % CLASSES
        path = root / f"class {label}" / f"{number:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(number, label, side))
    return root
