"""The pictures that are measured with: JPEG files of Fashion-MNIST, made once and kept.

Debian's package dataset-fashion-mnist has the originals: 28 x 28, grey. Each is made larger
(bicubic), tinted and given a little noise, as a camera would, by its number: a 256 x 256 RGB JPEG
of quality 90 has 15 KB, as facts of real collections of that size say. In class folders.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.measure import CACHE

ORIGINALS = Path("/usr/share/datasets/fashion-mnist")
CLASSES = ("t-shirt", "trouser", "pullover", "dress", "coat")
CLASSES += ("sandal", "shirt", "sneaker", "bag", "ankle-boot")
SIDE, QUALITY, NOISE = 256, 90, 7.0
_AT_ONCE = 250


def cached_pictures(count: int, side: int = SIDE) -> Path:
    """The folder of ``count`` pictures of ``side`` x ``side`` in class folders, made where it is
    not there. Blocks for a minute for 20,000.

    Raises:
        FileNotFoundError: The originals are not there.
    """
    folder = CACHE.parent / "pictures" / f"fashion-mnist-{side}-{count}"
    if not folder.exists():
        unfinished = folder.with_name(folder.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        write_pictures(unfinished, count, side)
        unfinished.rename(folder)
    return folder


def write_pictures(folder: Path, count: int, side: int = SIDE, processes: int = 0) -> None:
    """Write the first ``count`` pictures below ``folder``.

    Args:
        processes: 0: as many as there are cores; 1: in this one.
    """
    for name in CLASSES:
        (folder / name).mkdir(parents=True)
    parts = [range(at, min(at + _AT_ONCE, count)) for at in range(0, count, _AT_ONCE)]
    jobs = [(folder, part, side) for part in parts]
    if processes == 1:
        for job in jobs:
            _write(job)
        return
    with ProcessPoolExecutor(processes or os.cpu_count()) as pool:
        list(pool.map(_write, jobs))


def picture(number: int, side: int = SIDE) -> tuple[int, bytes]:
    """Label and JPEG of one picture: the same for the same number and side."""
    from PIL import Image

    images, labels = _originals()
    random = np.random.default_rng(number)
    tint = random.uniform(0.5, 1.0, 3).astype(np.float32)
    grown = Image.fromarray(images[number % len(images)]).resize(
        (side, side), Image.Resampling.BICUBIC
    )
    colours = np.asarray(grown, np.float32)[:, :, None] * tint
    noisy = colours + NOISE * _noise(side)[number % 4]
    file = io.BytesIO()
    pixels = np.clip(noisy, 0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(file, "JPEG", quality=QUALITY)
    return int(labels[number % len(images)]), file.getvalue()


def files_of(folder: Path) -> Iterator[tuple[int, Path]]:
    """Label and file of each picture in class folders, sorted by path."""
    for label, name in enumerate(sorted(one.name for one in folder.iterdir())):
        for file in sorted((folder / name).iterdir()):
            yield label, file


def _write(job: tuple[Path, range, int]) -> None:
    folder, numbers, side = job
    for number in numbers:
        label, content = picture(number, side)
        (folder / CLASSES[label] / f"{number:06}.jpg").write_bytes(content)


@cache
def _noise(side: int) -> Any:
    return np.random.default_rng(0).standard_normal((4, side, side, 3), np.float32)


@cache
def _originals() -> tuple[Any, Any]:
    with gzip.open(ORIGINALS / "train-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(ORIGINALS / "train-labels-idx1-ubyte.gz") as file:
        return images, np.frombuffer(file.read(), np.uint8, offset=8)
