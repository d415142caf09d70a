"""Gets the data set that the settings name, from where this host has it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from typing import Any, Iterator

import tensorflow as tf

from .. import places
from ..arguments import Settings
from . import in_memory
from .in_memory import Images


def load(settings: Settings) -> Images:
    """The data set, read into memory; may download, one process of a machine at a time.

    Raises:
        TrainingError: It is nowhere, or damaged.
    """
    if settings.data == "digits":
        return in_memory.load_digits().first(settings.limit)
    folders = places.data_folders(settings.data_dir, os.environ)
    # A folder that the user named is not silently replaced by a download.
    download = None if settings.data_dir else _download
    return in_memory.load_fashion_mnist(folders, download).first(settings.limit)


def _download() -> Any:
    """Keras's own download into its cache; who waited for the lock finds the files there."""
    with _one_process_of_this_machine("fashion-mnist-download"):
        return tf.keras.datasets.fashion_mnist.load_data()


@contextlib.contextmanager
def _one_process_of_this_machine(what: str) -> Iterator[None]:
    """Holds a lock that ranks of simulated hosts share too, which Horovod thinks are apart."""
    path = os.path.join(tempfile.gettempdir(), f"{what}-{os.getuid()}.lock")
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
