"""Small Keras models for small images. Pixels go in as they are stored, probabilities come out."""

from __future__ import annotations

from typing import Any, Sequence

import tensorflow as tf


def build(name: str, shape: Sequence[int], classes: int, brightest: int) -> Any:
    """A Keras model of kind ``name`` (``mlp`` or ``cnn``) with fresh weights.

    Neither has state beside its trainable weights (no batch statistics, no dropout counters), so
    a checkpoint is complete and every rank's copy is the same.

    Args:
        name: The kind.
        shape: (rows, columns, channels) of an image.
        classes: Length of the output, a probability each.
        brightest: The largest pixel value; scaled to 1 inside the model, so that who serves it
            needs to know nothing.
    """
    layers = tf.keras.layers
    head = [layers.Dense(classes, activation="softmax")]
    body = {
        "mlp": lambda: [layers.Flatten(), layers.Dense(128, activation="relu")],
        "cnn": lambda: [
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
        ],
    }[name]()
    entry = [layers.InputLayer(input_shape=tuple(shape)), layers.Rescaling(1.0 / brightest)]
    return tf.keras.Sequential([*entry, *body, *head], name=name)


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

    They have to exist before a checkpoint's values or rank 0's can be put into them; a step with
    gradients of zero is the one public way that Keras 2.8 to 2.18 share.
    """
    optimizer.apply_gradients([(tf.zeros_like(weight), weight) for weight in weights])
    optimizer.iterations.assign(0)


def optimizer_variables(optimizer: Any) -> Sequence[Any]:
    """The optimizer's variables; a method in some Keras releases and a property in others."""
    variables = optimizer.variables
    return list(variables() if callable(variables) else variables)
