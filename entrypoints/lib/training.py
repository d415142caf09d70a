"""Epochs of training on one rank, in step with all the others."""

from __future__ import annotations

import math
from typing import Any, Callable, Mapping

import horovod.tensorflow.keras as hvd
import tensorflow as tf

from . import models
from .errors import TrainingError
from .ranks import Ranks
from .schedules import WarmUp
from .tracking import Progress

LOSS = "sparse_categorical_crossentropy"
METRICS = ["accuracy"]


def compile_distributed(model: Any, optimizer: Any, weighted: bool = False) -> None:
    """Compiles ``model`` so that every step averages the gradients of all ranks.

    The optimizer's variables exist afterwards, so that a checkpoint or rank 0 can fill them.

    Args:
        model: A Keras model.
        optimizer: One of ``models.optimizer``.
        weighted: Whether batches come with weights, after which accuracy then goes too.
    """
    metrics = {"weighted_metrics" if weighted else "metrics": METRICS}
    model.compile(optimizer=hvd.DistributedOptimizer(optimizer), loss=LOSS, **metrics)
    models.create_optimizer_state(model.optimizer, model.trainable_variables)


def variables(model: Any) -> list[Any]:
    """All that training changes: the model's weights, then the optimizer's variables."""
    return [*model.weights, *models.optimizer_variables(model.optimizer)]


class Epochs(tf.keras.callbacks.Callback):
    """Keeps the rate, the progress lines and the end of each epoch; one object a run and rank.

    Args:
        ranks: The ranks of the run.
        rate: The learning rate by step.
        steps_done: Optimizer steps before this run.
        steps_before: Steps of the first epoch that were done before this run.
        images: That this rank reads in an epoch.
        progress: On rank 0 the lines; None elsewhere.
        epoch_done: Called on all ranks after an epoch with its number (from 1), the steps done
            and its metrics (loss, accuracy, on rank 0 also images_per_second).
        step_done: Called on all ranks after each step with its number in the epoch and all steps
            done; None for no call.
    """

    # Keras then hands over tensors; it is this class that decides when to wait for a value.
    _supports_tf_logs = True

    def __init__(
        self,
        ranks: Ranks,
        rate: WarmUp,
        steps_done: int,
        steps_before: int,
        images: int,
        progress: Progress | None,
        epoch_done: Callable[[int, int, dict[str, float]], None],
        step_done: Callable[[int, int], None] | None = None,
    ):
        super().__init__()
        self._ranks, self._rate, self._steps_done = ranks, rate, steps_done
        self._progress, self._epoch_done, self._step_done = progress, epoch_done, step_done
        self._images = images
        self._epoch, self._step, self._first_step = 0, 0, steps_before
        self._current_rate = math.nan

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """``epoch`` counts from 0."""
        self._epoch = epoch + 1
        self._step, self._first_step = self._first_step, 0
        if self._progress:
            self._progress.epoch_begins(self._step)

    def on_train_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Sets the rate of the step that is about to be taken, where it changes."""
        rate = self._rate.rate(self._steps_done)
        if rate != self._current_rate:
            tf.keras.backend.set_value(self.model.optimizer.learning_rate, rate)
            self._current_rate = rate

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any]) -> None:
        """Counts the step; on rank 0 perhaps a line."""
        self._steps_done += 1
        self._step += 1
        if self._progress:
            self._progress.step_ended(self._epoch, self._step, lambda: float(logs["loss"]))
        if self._step_done:
            self._step_done(self._step, self._steps_done)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any]) -> None:
        """Averages the metrics, proves that the ranks are in step, and hands over.

        Raises:
            TrainingError: The loss is no number any more, or the ranks are out of step.
        """
        mine = {name: float(logs[name]) for name in ("loss", "accuracy")}
        metrics = self._ranks.average(mine, weight=float(self._images))
        if self._progress:
            metrics["images_per_second"] = self._progress.epoch_ended(
                self._epoch, metrics["loss"], metrics["accuracy"]
            )
        self._ranks.together(lambda: _check_finite(metrics["loss"], self._epoch))
        self._ranks.average_variables(self.model.non_trainable_variables)
        self._ranks.check_in_step([weight.numpy() for weight in self.model.weights])
        self._epoch_done(self._epoch, self._steps_done, metrics)


def _check_finite(loss: float, epoch: int) -> None:
    if not math.isfinite(loss):
        raise TrainingError(
            f"the loss is {loss} after epoch {epoch}, so training has failed; no checkpoint of it "
            "was written. Use a smaller --lr, or --lr-scaling none."
        )
