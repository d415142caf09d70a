"""MNIST's own file format (IDX), plain or gzipped, as Fashion-MNIST and others are published in.

The format: two zero bytes, a byte for the element type (8 is uint8), a byte for the number of
dimensions, each dimension as a big-endian 32-bit number, then the elements
(http://yann.lecun.com/exdb/mnist/, "The IDX file format").
"""

from __future__ import annotations

import gzip
import struct
import zlib

import numpy as np

from .. import storage
from ..arrays import Array
from ..errors import TrainingError

PARTS = ("train-images", "train-labels", "t10k-images", "t10k-labels")


def find(folder: str) -> dict[str, str] | None:
    """The paths of the four files in ``folder`` by part, or None unless all four are there.

    Each may be called train-images-idx3-ubyte or train-images.idx3-ubyte, with or without .gz.

    Raises:
        OSError: The folder cannot be read.
    """
    present = storage.names(folder)
    found = {}
    for part in PARTS:
        name = next((name for name in allowed_names(part) if name in present), None)
        if name is None:
            return None
        found[part] = storage.join(folder, name)
    return found


def allowed_names(part: str) -> list[str]:
    """The file names under which ``part`` is known, the usual one first."""
    kind = "idx3-ubyte" if part.endswith("images") else "idx1-ubyte"
    return [part + mark + kind + end for mark in "-." for end in (".gz", "")]


def read_split(images_path: str, labels_path: str) -> tuple[Array, Array]:
    """Images (n, rows, columns, 1) uint8 and labels (n,) int64 of one split.

    Raises:
        TrainingError: A file is damaged, no image or label file, or the two don't belong together.
        OSError: A file cannot be read.
    """
    images, labels = read_array(images_path), read_array(labels_path)
    if images.ndim != 3:
        raise TrainingError(
            f"{images_path}: has {images.ndim} dimensions; expected images, which have 3"
        )
    if labels.ndim != 1:
        raise TrainingError(
            f"{labels_path}: has {labels.ndim} dimensions; expected labels, which have 1"
        )
    if len(images) != len(labels):
        raise TrainingError(
            f"{images_path} holds {len(images)} images and {labels_path} holds {len(labels)} "
            "labels; expected as many of each. Take both from the same download."
        )
    return images[..., np.newaxis], labels.astype(np.int64)


def read_array(path: str) -> Array:
    """The array of uint8 that an IDX file holds.

    Raises:
        TrainingError: The file is damaged or has another format.
        OSError: It cannot be read.
    """
    content = storage.read(path)
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise TrainingError(f"{path}: damaged gzip file ({error}). Fetch it again.") from error
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise TrainingError(
            f"{path}: begins with {content[:4]!r}; expected MNIST's format with bytes as elements"
        )
    dimensions = content[3]
    start = 4 + 4 * dimensions
    if len(content) < start:
        raise TrainingError(f"{path}: ends within its header. Fetch it again.")
    shape = struct.unpack_from(f">{dimensions}I", content, 4)
    if len(content) - start != int(np.prod(shape, dtype=np.int64)):
        expected = " x ".join(str(length) for length in shape)
        raise TrainingError(
            f"{path}: holds {len(content) - start} bytes behind its header; expected {expected}. "
            "Fetch it again."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
