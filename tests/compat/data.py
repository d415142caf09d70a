"""Small made-up files where a script reads files of its own: the kinds that the manifest names."""

from __future__ import annotations

import pickle
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy

IMAGES = 256  # of a file; `shim/made_up_data.py` makes what loaders give


def make(path: Path, kind: str) -> None:
    """Writes data of ``kind`` to ``path``, a file or (pictures) a folder.

    Raises:
        KeyError: No such kind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _KINDS[kind](path, numpy.random.RandomState(zlib.crc32(path.name.encode())))


def _mnist_arrays(path: Path, random: numpy.random.RandomState) -> None:
    """Images (28, 28), uint8, and labels 0 to 9, as the SageMaker sample's notebook saves them."""
    images = random.randint(0, 255, size=(IMAGES, 28, 28)).astype("uint8")
    numpy.savez(path, data=images, labels=random.randint(0, 10, size=IMAGES))


def _word_numbers(path: Path, random: numpy.random.RandomState) -> None:
    numpy.save(path, random.randint(1, 2000, size=(IMAGES, 400)).astype("int32"))


def _zeros(path: Path, random: numpy.random.RandomState) -> None:
    numpy.save(path, numpy.zeros(IMAGES, dtype="int32"))


def _faces(path: Path, random: numpy.random.RandomState) -> None:
    """A pickled list of images (64, 64, 3), uint8."""
    path.write_bytes(pickle.dumps(list(random.randint(0, 255, (24, 64, 64, 3)).astype("uint8"))))


def _cifar10_batch(path: Path, random: numpy.random.RandomState) -> None:
    """As the data set's own files: rows of 3,072 bytes and a list of labels."""
    rows = random.randint(0, 255, size=(IMAGES, 3072)).astype("uint8")
    labels = [int(label) for label in random.randint(0, 10, size=IMAGES)]
    path.write_bytes(pickle.dumps({b"data": rows, b"labels": labels}))


def _pictures(path: Path, random: numpy.random.RandomState) -> None:
    """32 small PNG pictures in each of two folders; their names end in jpg, as the real ones do."""
    for label in ("cats", "dogs"):
        (path / label).mkdir(parents=True)
        for index in range(32):
            pixels = random.randint(0, 255, size=(32, 32, 3)).astype("uint8")
            (path / label / f"{index}.jpg").write_bytes(_png(pixels))


def _png(pixels: numpy.ndarray) -> bytes:
    """``pixels`` (height, width, 3), uint8, as a PNG file."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + pixels[row].tobytes() for row in range(height))

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


_KINDS: dict[str, Callable[[Path, numpy.random.RandomState], None]] = {
    "mnist arrays": _mnist_arrays,
    "word numbers": _word_numbers,
    "zeros": _zeros,
    "faces": _faces,
    "cifar10 batch": _cifar10_batch,
    "pictures": _pictures,
}
