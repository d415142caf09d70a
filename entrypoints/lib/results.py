"""What a run leaves behind: the accuracy on the test split, a model file, metrics.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from . import prediction, storage
from .arrays import Array
from .data.dataset import DataSet
from .errors import TrainingError
from .ranks import Ranks

EVALUATION_BATCH = 256
SMALLEST_PROBABILITY = 1e-7  # as Keras clips before the logarithm
METRICS_FILE = "metrics.json"


@dataclass(frozen=True)
class Score:
    """How well a model does on a split.

    Attributes:
        accuracy: 0 to 1.
        loss: Mean cross-entropy.
    """

    accuracy: float
    loss: float

    def of_validation(self) -> dict[str, float]:
        """As an epoch's metrics name it."""
        return {"validation_loss": self.loss, "validation_accuracy": self.accuracy}


def evaluate(
    predict: Callable[[Array], Array],
    data: DataSet,
    ranks: Ranks,
    copies: int,
    augment: Sequence[str],
    seed: int,
    hurries: Callable[[], bool] = lambda: False,
) -> Score | None:
    """The score on the test split, the same on all ranks; None where a rank had to hurry.

    Each rank reads its share; results are weighted by the number of images, so they do not
    depend on the world size. With ``copies`` a picture's prediction is the mean over it and so
    many copies, augmented by the kinds and the seed.

    Args:
        predict: (n, classes) probabilities for (n, rows, columns, channels) float32.
        data: Whose test split it is.
        ranks: Of the run.
        copies: Augmented copies of each picture.
        augment: How those are made; of ``pictures.augmenting.KINDS``.
        seed: Of what is drawn for them.
        hurries: Asked after each batch; where it says so on any rank there is no score.
    """
    count, correct, loss, hurry = 0, 0.0, 0.0, False
    for pixels, labels in data.test_arrays(ranks.rank, ranks.size, EVALUATION_BATCH):
        found = prediction.averaged(predict, pixels, copies=copies, augment=augment, seed=seed)
        right, of_batch = scored(found, labels)
        count, correct, loss = count + len(labels), correct + right, loss + of_batch
        hurry = hurries()
        if hurry:
            break
    totals = np.sum(np.array(ranks.gather((float(count), correct, loss, float(hurry)))), axis=0)
    if totals[3]:
        return None
    return Score(float(totals[1] / totals[0]), float(totals[2] / totals[0]))


def scored(probabilities: Array, labels: Array) -> tuple[float, float]:
    """(number of right answers, sum of cross-entropies).

    Args:
        probabilities: (n, classes).
        labels: (n,) of class numbers.
    """
    right = float(np.sum(np.argmax(probabilities, axis=1) == labels))
    of_label = probabilities[np.arange(len(labels)), labels].astype(np.float64)
    return right, float(-np.sum(np.log(np.maximum(of_label, SMALLEST_PROBABILITY))))


def exported(export: Callable[[str], str], folder: str) -> str:
    """The path of the file that ``export`` writes into ``folder``.

    Raises:
        TrainingError: The disk is full or the folder cannot be written.
    """
    try:
        return export(folder)
    except OSError as error:
        raise TrainingError(
            f"{folder}: the model cannot be written: {error}. Make room there or give another "
            "folder with --model-dir, and start again: a checkpoint has all epochs."
        ) from error


def write_metrics(folder: str, metrics: Mapping[str, Any]) -> str:
    """Writes metrics.json into ``folder``, whole or not at all, and gives its path.

    Raises:
        TrainingError: The disk is full or the folder cannot be written.
    """
    path = storage.join(folder, METRICS_FILE)
    content = json.dumps(metrics, indent=2, sort_keys=True).encode("utf-8") + b"\n"
    try:
        storage.write_whole(path, content)
    except OSError as error:
        raise TrainingError(
            f"{path}: cannot be written: {error}. Make room there or give another folder with "
            "--model-dir."
        ) from error
    return path
