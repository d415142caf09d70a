"""A compiled Keras model as the run sees it."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import horovod
import tensorflow as tf

from ..arguments import Settings
from ..arrays import Array
from . import models
from .ranks import HorovodRanks


class KerasLearner:
    """See ``learner.Learner``.

    Args:
        model: Of ``models.build_for``, compiled or not.
        optimizer: What trains it; its variables exist (``models.create_optimizer_state``).
        ranks: Of the run.
        settings: ``sync`` says what ranks have of their own.
    """

    def __init__(self, model: Any, optimizer: Any, ranks: HorovodRanks, settings: Settings):
        self._model, self._optimizer, self._ranks = model, optimizer, ranks
        self._averages = settings.sync.averages
        self._predict: Any = None

    @property
    def versions(self) -> Mapping[str, str]:
        """TensorFlow's and Horovod's."""
        return {"TensorFlow": tf.__version__, "Horovod": horovod.__version__}

    @property
    def identity(self) -> Mapping[str, Any]:
        """What the model was made by, where that is no plain model."""
        identity: Mapping[str, Any] = self._model.blueprint.identity
        return identity

    def weights(self) -> list[Array]:
        """In the order of ``model.weights``."""
        return [weight.numpy() for weight in self._model.weights]

    def optimizer_state(self) -> list[Array]:
        """In the order of the optimizer's variables."""
        return [variable.numpy() for variable in models.optimizer_variables(self._optimizer)]

    def fill(self, weights: Sequence[Array], optimizer: Sequence[Array]) -> None:
        """Puts these into model and optimizer."""
        for variable, array in zip(self._variables(), [*weights, *optimizer]):
            variable.assign(array)

    def take_first(self) -> None:
        """Horovod's broadcast of all variables; augmentation draws on from there."""
        self._ranks.same_variables(self._variables())
        models.draw_on(self._model, int(self._optimizer.iterations.numpy()))

    def settle(self) -> None:
        """Averages moving statistics; with ``--sync average`` all that training changes.

        The optimizer's state as well, so that rank 0's is every rank's and a checkpoint is whole.
        """
        own = models.moving(self._model)
        if self._averages:
            state = models.optimizer_variables(self._optimizer)
            own = [*own, *self._model.trainable_weights, *state]
        self._ranks.average_variables(own)

    def predict(self, images: Array) -> Array:
        """The model's answer for one batch."""
        if self._predict is None:
            batch = tf.TensorSpec([None, *self._model.input_shape[1:]], tf.float32)
            self._predict = tf.function(
                lambda pixels: self._model(pixels, training=False), input_signature=[batch]
            )
        found: Array = self._predict(tf.constant(images)).numpy()
        return found

    def _variables(self) -> list[Any]:
        return [*self._model.weights, *models.optimizer_variables(self._optimizer)]
