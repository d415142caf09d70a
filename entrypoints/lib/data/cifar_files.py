"""CIFAR-10's own files: Python pickles, as Keras keeps them, or the binary version.

The formats: https://www.cs.toronto.edu/~kriz/cifar.html. A picture is 3,072 bytes, its red, green
and blue plane of 32x32 one after the other. A pickle from a bucket could run code when it is read,
so that nothing but NumPy's arrays is let into being here.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from .. import storage
from ..arrays import Array
from ..errors import TrainingError

TRAINING = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST = "test_batch"
FOLDERS = ("", "cifar-10-batches-py", "cifar-10-batches-bin")  # below the folder that is given
SIDE, CHANNELS = 32, 3
BYTES = SIDE * SIDE * CHANNELS
_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
    ("__builtin__", "bytes"),  # what is empty, as Python 3 writes it for Python 2
}


def find(folder: str) -> list[str] | None:
    """The paths of the six files in ``folder``, the test file last; None unless all are there.

    Raises:
        OSError: The folder cannot be read.
    """
    for below in FOLDERS:
        place = storage.join(folder, below) if below else folder
        present = set(storage.names(place))
        for ending in ("", ".bin"):
            wanted = [name + ending for name in (*TRAINING, TEST)]
            if present.issuperset(wanted):
                return [storage.join(place, name) for name in wanted]
    return None


def read(paths: list[str]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """(images (n, 32, 32, 3) uint8, labels (n,) int64) to train and to test on.

    Raises:
        TrainingError: A file is damaged or none of these.
        OSError: It cannot be read.
    """
    parts = [_read_file(path) for path in paths]
    images = np.concatenate([part[0] for part in parts[:-1]])
    labels = np.concatenate([part[1] for part in parts[:-1]])
    return (images, labels), parts[-1]


def _read_file(path: str) -> tuple[Array, Array]:
    content = storage.read(path)
    try:
        flat, labels = _binary(content) if path.endswith(".bin") else _pickled(content)
        if flat.ndim != 2 or flat.shape[1] != BYTES or len(flat) != len(labels):
            raise ValueError(f"{flat.shape} bytes for {len(labels)} labels")
    except Exception as error:  # a damaged pickle raises nearly anything
        raise TrainingError(
            f"{path}: no file of CIFAR-10, or damaged ({type(error).__name__}: {error}). Fetch it "
            "again."
        ) from error
    planes = flat.reshape(-1, CHANNELS, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels


def _binary(content: bytes) -> tuple[Array, Array]:
    rows = np.frombuffer(content, np.uint8).reshape(-1, 1 + BYTES)
    return rows[:, 1:], rows[:, 0].astype(np.int64)


def _pickled(content: bytes) -> tuple[Array, Array]:
    about = _Unpickler(io.BytesIO(content), encoding="bytes").load()
    return np.asarray(about[b"data"], np.uint8), np.asarray(about[b"labels"], np.int64)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"holds {module}.{name}, which is no data")
        return super().find_class(module, name)
