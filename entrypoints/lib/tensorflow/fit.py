"""Keras's ``fit`` on one rank, in step with all the others."""

from __future__ import annotations

import math
from typing import Any, Mapping

import tensorflow as tf

from ..data.division import DROP
from ..run import Run
from . import measures

LOSS = "sparse_categorical_crossentropy"


def compiled_with(remainder: str) -> dict[str, list[Any]]:
    """What ``model.compile`` takes for the means of an epoch, by the names that it has for it.

    With ``drop`` samples have no weights, and Keras's own means are over the samples.
    """
    if remainder == DROP:
        return {"metrics": [measures.ACCURACY]}
    return {"weighted_metrics": measures.of_epoch()}


class InStep(tf.keras.callbacks.Callback):
    """Tells the run of every step and epoch, and sets the learning rate of the step that comes."""

    # Keras then hands over tensors; it is this class that decides when to wait for a value.
    _supports_tf_logs = True

    def __init__(self, run: Run):
        super().__init__()
        self._run = run
        self._rate = math.nan

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """``epoch`` counts from 0."""
        self._run.epoch_begins(epoch)

    def on_train_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Sets the rate of the step that is about to be taken, where it changes."""
        rate = self._run.rate
        if rate != self._rate:
            tf.keras.backend.set_value(self.model.optimizer.learning_rate, rate)
            self._rate = rate

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any]) -> None:
        """Hands the step over, its loss unread."""
        self._run.step_ended(lambda: float(logs["loss"]))

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any]) -> None:
        """Hands over the means of the epoch."""
        loss = logs.get(measures.LOSS, logs["loss"])
        samples = logs.get(measures.SAMPLES, self._run.plan.images_per_rank)
        self._run.epoch_ended(float(loss), float(logs[measures.ACCURACY]), float(samples))
