"""Loss and accuracy of an epoch as means over the samples that were trained on.

The weights of a batch make a step's gradient right (``data.weights``): in an epoch's last, shorter
step they are other than 1. In a mean over the epoch each sample counts once, and padding, whose
weight is 0, not at all.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

LOSS, ACCURACY, SAMPLES = "sample_loss", "accuracy", "samples"


class Loss(tf.keras.metrics.SparseCategoricalCrossentropy):
    """The mean loss of a sample."""

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """A batch: labels, probabilities, weights."""
        return super().update_state(y_true, y_pred, _counted(y_true, sample_weight))


class Accuracy(tf.keras.metrics.SparseCategoricalAccuracy):
    """The share of samples with the right answer."""

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """A batch: labels, probabilities, weights."""
        return super().update_state(y_true, y_pred, _counted(y_true, sample_weight))


class Samples(tf.keras.metrics.Sum):
    """How many samples they are means over: so much do they count in the mean of all ranks."""

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """A batch: labels, probabilities, weights."""
        return super().update_state(_counted(y_true, sample_weight))


def of_epoch() -> list[Any]:
    """What ``Run.epoch_ended`` wants of an epoch, in its order, as metrics of Keras."""
    return [Loss(name=LOSS), Accuracy(name=ACCURACY), Samples(name=SAMPLES)]


def _counted(labels: Any, weights: Any) -> Any:
    if weights is None:
        return tf.ones_like(labels, tf.float32)
    return tf.cast(weights > 0, tf.float32)
