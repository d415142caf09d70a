"""Writes arrays in MNIST's file format, from the format's description."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np


def idx(array: np.ndarray[Any, Any]) -> bytes:
    """The bytes of an IDX file of unsigned bytes."""
    header = bytes([0, 0, 8, array.ndim])
    lengths = b"".join(length.to_bytes(4, "big") for length in array.shape)
    return header + lengths + array.astype(np.uint8).tobytes()


def write_data_set(
    folder: Path,
    training: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]],
    test: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]],
    *,
    zipped: bool = True,
) -> None:
    """The four files; images are (n, rows, columns), labels (n,)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (images, labels) in (("train", training), ("t10k", test)):
        for kind, array in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
            content = idx(array)
            path = folder / f"{name}-{kind}{'.gz' if zipped else ''}"
            path.write_bytes(gzip.compress(content, 1) if zipped else content)
