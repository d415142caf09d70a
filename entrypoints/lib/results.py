"""What a run leaves behind: the accuracy on the test split and a model file that loads again."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Sequence

import numpy as np
import tensorflow as tf

from . import prediction, storage
from .arrays import Array
from .data.dataset import DataSet
from .errors import TrainingError
from .ranks import Ranks

EVALUATION_BATCH = 256
SMALLEST_PROBABILITY = 1e-7  # as Keras clips before the logarithm


def evaluate(
    model: Any, data: DataSet, ranks: Ranks, copies: int, augment: Sequence[str], seed: int
) -> tuple[float, float]:
    """(accuracy 0 to 1, mean cross-entropy) on the test split, the same on all ranks.

    Each rank reads its share; results are weighted by the number of images, so they do not
    depend on the world size. With ``copies`` a picture's prediction is the mean over it and so
    many copies, augmented by the kinds and the seed.
    """
    count, correct, loss = 0, 0.0, 0.0
    for pixels, labels in data.test_batches(ranks.rank, ranks.size, EVALUATION_BATCH):
        found = prediction.averaged(
            model.predict_on_batch, pixels.numpy(), copies=copies, augment=augment, seed=seed
        )
        right, of_batch = score(found, labels.numpy())
        count, correct, loss = count + len(labels), correct + right, loss + of_batch
    totals = np.sum(np.array(ranks.gather((float(count), correct, loss))), axis=0)
    return float(totals[1] / totals[0]), float(totals[2] / totals[0])


def score(probabilities: Array, labels: Array) -> tuple[float, float]:
    """(number of right answers, sum of cross-entropies).

    Args:
        probabilities: (n, classes).
        labels: (n,) of class numbers.
    """
    right = float(np.sum(np.argmax(probabilities, axis=1) == labels))
    of_label = probabilities[np.arange(len(labels)), labels].astype(np.float64)
    return right, float(-np.sum(np.log(np.maximum(of_label, SMALLEST_PROBABILITY))))


def export(model: Any, folder: str) -> str:
    """Writes ``model`` into ``folder`` as one file, whole or not at all, and gives its path.

    The file is model.keras, or model.h5 where Keras is older than that format (before 2.12).

    Args:
        model: A Keras model, compiled without Horovod so that it loads without it.
        folder: A folder or an address that can be written.

    Raises:
        TrainingError: The disk is full or the folder cannot be written.
    """
    path = storage.join(folder, "model.keras" if _has_keras_format() else "model.h5")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            local = os.path.join(scratch, os.path.basename(path))
            model.save(local)
            with open(local, "rb") as file:
                content = file.read()
        storage.write_whole(path, content)
    except OSError as error:
        raise TrainingError(
            f"{path}: the model cannot be written: {error}. Make room there or give another folder "
            "with --model-dir, and start again: a checkpoint has all epochs."
        ) from error
    return path


def _has_keras_format() -> bool:
    major, minor = tf.__version__.split(".")[:2]
    return (int(major), int(minor)) >= (2, 12)
