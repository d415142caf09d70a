"""A trained Keras model as one file that loads without Horovod."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import tensorflow as tf

from .. import storage


def export(model: Any, folder: str) -> str:
    """Writes ``model`` into ``folder`` as one file, whole or not at all, and gives its path.

    The file is model.keras, or model.h5 where Keras is older than that format (before 2.12).

    Args:
        model: A Keras model, compiled without Horovod so that it loads without it.
        folder: A folder or an address that can be written.

    Raises:
        OSError: The disk is full or the folder cannot be written.
    """
    path = storage.join(folder, "model.keras" if _has_keras_format() else "model.h5")
    with tempfile.TemporaryDirectory() as scratch:
        local = os.path.join(scratch, os.path.basename(path))
        model.save(local)
        with open(local, "rb") as file:
            content = file.read()
    storage.write_whole(path, content)
    return path


def _has_keras_format() -> bool:
    major, minor = tf.__version__.split(".")[:2]
    return (int(major), int(minor)) >= (2, 12)
