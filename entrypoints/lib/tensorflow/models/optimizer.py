"""Optimizers whose variables travel in checkpoints between TensorFlow releases."""

from __future__ import annotations

from typing import Any, Sequence

import tensorflow as tf


def optimizer(name: str, learning_rate: float) -> Any:
    """A Keras optimizer, ``adam`` or ``sgd`` (with momentum 0.9).

    It is the class that Keras before 2.11 had: that is the one which every Horovod release knows
    (horovod/horovod pull requests 3725 and 3822), and its variables have one order in all
    TensorFlow releases, so that checkpoints travel between them.
    """
    optimizers = getattr(tf.keras.optimizers, "legacy", tf.keras.optimizers)
    if name == "adam":
        return optimizers.Adam(learning_rate)
    return optimizers.SGD(learning_rate, momentum=0.9)


def create_optimizer_state(optimizer: Any, weights: Sequence[Any]) -> None:
    """Makes the optimizer's variables for ``weights``, which stay as they are.

    They have to exist before a checkpoint's values or rank 0's can be put into them. No step is
    taken for it, not even one of zeros: the job's evidence would have seen ranks that train and
    exchange nothing, which is untrue of a run whose epochs are all done. The call is that by which
    ``apply_gradients`` of this class begins, in Keras 2.8 to 2.18.
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    optimizer._create_all_weights(list(weights))


def optimizer_variables(optimizer: Any) -> Sequence[Any]:
    """The optimizer's variables, those of a loss scale last.

    They are a method in some Keras releases and a property in others.
    """
    variables = optimizer.variables
    state = getattr(optimizer, "_loss_scale", None)
    scale = [getattr(state, name, None) for name in ("current_loss_scale", "counter")]
    return [
        *(variables() if callable(variables) else variables),
        *(variable for variable in scale if isinstance(variable, tf.Variable)),
    ]
