"""scikit-learn's handwritten digits, which come with it and need no download."""

from __future__ import annotations

import numpy as np

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
    try:
        from sklearn import datasets
    except ImportError as error:
        raise TrainingError(
            "--data digits: the images come with scikit-learn, which cannot be imported "
            f"({error}). Install scikit-learn, or choose --data fashion-mnist."
        ) from error
    digits = datasets.load_digits()
    order = np.random.RandomState(SPLIT_SEED).permutation(len(digits.target))
    images = digits.images.astype(np.uint8)[order][..., np.newaxis]
    labels = digits.target.astype(np.int64)[order]
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
