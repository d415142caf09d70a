"""scikit-learn's handwritten digits, which come with it and need no download."""

from __future__ import annotations

import gzip
import importlib.util
import os

import numpy as np

from ..arrays import Array
from ..errors import TrainingError
from .in_memory import Images

TEST_SHARE = 5  # one image in five is held out
SPLIT_SEED = 0  # not --seed: accuracies of different seeds speak of the same images


def load_digits() -> Images:
    """scikit-learn's 1,797 handwritten digits of 8x8 pixels: 1,438 to train on, 359 to test.

    The set has no split of its own; this one is the same in every run.

    Raises:
        TrainingError: scikit-learn is not installed.
    """
    images, labels = _all_digits()
    order = np.random.RandomState(SPLIT_SEED).permutation(len(labels))
    images = images.astype(np.uint8)[order][..., np.newaxis]
    labels = labels.astype(np.int64)[order]
    held_out = len(labels) // TEST_SHARE
    return Images(
        name="digits",
        origin="scikit-learn",
        training_images=images[held_out:],
        training_labels=labels[held_out:],
        test_images=images[:held_out],
        test_labels=labels[:held_out],
        classes=10,
        brightest=16,
    )


def _all_digits() -> tuple[Array, Array]:
    """Pixels (n, 8, 8) of 0 to 16, and labels (n,).

    From scikit-learn's own file where it lies as a file: its import takes a second of each rank.
    """
    spec = importlib.util.find_spec("sklearn")
    if spec is None or spec.origin is None:
        return _from_sklearn()
    path = os.path.join(os.path.dirname(spec.origin), "datasets", "data", "digits.csv.gz")
    try:
        with gzip.open(path, "rt") as file:
            rows = np.loadtxt(file, delimiter=",")
    except (OSError, ValueError):  # it lies elsewhere in that release
        return _from_sklearn()
    return rows[:, :-1].reshape(-1, 8, 8), rows[:, -1]


def _from_sklearn() -> tuple[Array, Array]:
    try:
        from sklearn import datasets
    except ImportError as error:
        raise TrainingError(
            "--data digits: the images come with scikit-learn, which cannot be imported "
            f"({error}). Install scikit-learn, or choose --data fashion-mnist."
        ) from error
    digits = datasets.load_digits()
    return digits.images, digits.target
