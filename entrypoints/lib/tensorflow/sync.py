"""Horovod's ways to keep one Keras model on all ranks, as --sync and its companions ask for."""

from __future__ import annotations

from typing import Any, Sequence

import horovod
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras
import tensorflow as tf

from ..arguments import Settings
from ..errors import PeerEndedError, TrainingError
from ..sync import ADASUM, FP16, against_adasum, check_passes
from .ranks import HorovodRanks


def check(settings: Settings, ranks: HorovodRanks) -> None:
    """Passes where Horovod can do here what is asked for; no collective, the same on all ranks.

    Raises:
        TrainingError: Adasum, where Horovod has none; on rank 0.
        PeerEndedError: The same, on the others.
    """
    if settings.sync.kind != ADASUM or ranks.size == 1:
        return
    found = against_adasum(hvd.mpi_enabled(), ranks.size)
    if found:
        raise (TrainingError if ranks.first else PeerEndedError)(f"--sync adasum: {found}")


def distributed(optimizer: Any, settings: Settings) -> Any:
    """The optimizer to compile a model with, whose steps exchange gradients.

    With ``--sync average`` it is ``optimizer`` itself: the run averages parameters.

    Raises:
        TrainingError: This Horovod is too old for ``--backward-passes``.
    """
    check_passes(settings, horovod.__version__)
    if settings.sync.averages:
        return optimizer
    if settings.sync.kind == ADASUM:
        # hvd.DistributedOptimizer refuses Adasum for Keras. This is what Keras calls in its place.
        optimizer.gradient_aggregator = lambda pairs: [
            (_reduced(gradient, settings), variable) for gradient, variable in pairs
        ]
        return optimizer
    return hvd_keras.DistributedOptimizer(
        optimizer,
        compression=_compression(settings),
        backward_passes_per_step=settings.backward_passes,
        average_aggregated_gradients=True,
    )


class Steps:
    """The optimizer's steps of a loop of its own, by gradients that all ranks share.

    Args:
        optimizer: Its variables exist (``models.create_optimizer_state``).
        variables: That are trained.
        settings: Of the exchange.
    """

    def __init__(self, optimizer: Any, variables: Sequence[Any], settings: Settings):
        self._optimizer, self._variables, self._settings = optimizer, list(variables), settings
        self._passes = settings.backward_passes
        if self._passes > 1:
            self._count = tf.Variable(0, trainable=False)
            self._sums = [tf.Variable(tf.zeros_like(one), trainable=False) for one in variables]

    def tape(self, tape: Any) -> Any:
        """``tape``, whose gradients are those of all ranks where every step exchanges them."""
        if self._settings.sync.averages or self._passes > 1:
            return tape
        return hvd.DistributedGradientTape(
            tape, op=_operation(self._settings), compression=_compression(self._settings)
        )

    def take(self, gradients: Sequence[Any]) -> None:
        """A step; with ``--backward-passes N`` every N-th one, by the mean of N gradients."""
        if self._passes == 1:
            self._optimizer.apply_gradients(zip(gradients, self._variables))
            return
        for total, gradient in zip(self._sums, gradients):
            total.assign_add(gradient)
        self._count.assign_add(1)
        tf.cond(tf.equal(self._count % self._passes, 0), self._apply_sums, self._only_count)

    def _apply_sums(self) -> None:
        means = [_reduced(total, self._settings) / self._passes for total in self._sums]
        self._optimizer.apply_gradients(zip(means, self._variables))
        for total in self._sums:
            total.assign(tf.zeros_like(total))

    def _only_count(self) -> None:
        # As hvd.DistributedOptimizer counts: Adam's correction of its first steps goes by it.
        self._optimizer.iterations.assign_add(1)


def _reduced(gradient: Any, settings: Settings) -> Any:
    if hvd.size() == 1:
        return tf.convert_to_tensor(gradient)
    operation, compression = _operation(settings), _compression(settings)
    return hvd.allreduce(gradient, op=operation, compression=compression)


def _operation(settings: Settings) -> Any:
    return hvd.Adasum if settings.sync.kind == ADASUM else hvd.Average


def _compression(settings: Settings) -> Any:
    return hvd.Compression.fp16 if settings.compression == FP16 else hvd.Compression.none
