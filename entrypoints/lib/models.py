"""Keras models for images of any size. Pixels go in as they are stored, probabilities come out."""

from __future__ import annotations

from typing import Any, Sequence

import tensorflow as tf

from .errors import TrainingError

DENSE_SIDE = 32  # pixels a side that the mlp sees at most; larger images are averaged down to it
MAP_SIDE = 8  # of the cnn's last feature map, at most
SMALLEST_RESNET = 32  # keras.applications.ResNet50 takes none smaller


def build(name: str, shape: Sequence[int], classes: int, brightest: int) -> Any:
    """A Keras model of kind ``name`` (``mlp``, ``cnn`` or ``resnet50``) with fresh weights.

    ``mlp`` and ``cnn`` have no state beside their trainable weights. ``resnet50`` has the moving
    statistics of its batch normalisation, which every rank gathers from its own samples:
    ``Ranks.average_variables`` makes them one before they are used or written. All of them are in
    ``model.weights``, so a checkpoint is complete.

    Args:
        name: The kind.
        shape: (rows, columns, channels) of an image.
        classes: Length of the output, a probability each.
        brightest: The largest pixel value; scaled inside the model, so that who serves it needs to
            know nothing.

    Raises:
        TrainingError: The images are too small for it.
    """
    bodies = {"mlp": _mlp, "cnn": _cnn, "resnet50": _resnet50}
    return bodies[name](tuple(shape), classes, brightest)


def _mlp(shape: tuple[int, ...], classes: int, brightest: int) -> Any:
    layers = tf.keras.layers
    pools = tuple(max(1, -(-side // DENSE_SIDE)) for side in shape[:2])
    smaller = [layers.AveragePooling2D(pools)] if max(pools) > 1 else []
    body = [*smaller, layers.Flatten(), layers.Dense(128, activation="relu")]
    return _sequential("mlp", shape, classes, brightest, body)


def _cnn(shape: tuple[int, ...], classes: int, brightest: int) -> Any:
    """Two blocks of convolution and pooling, and as many more as large images need."""
    layers = tf.keras.layers
    body: list[Any] = []
    side, filters = min(shape[:2]), 32
    while len(body) < 4 or side > MAP_SIDE:
        body.append(layers.Conv2D(filters, 3, padding="same", activation="relu"))
        body.append(layers.MaxPooling2D(padding="valid" if side > 1 else "same"))
        side, filters = max(1, side // 2), min(filters * 2, 128)
    body += [layers.Flatten(), layers.Dense(128, activation="relu")]
    return _sequential("cnn", shape, classes, brightest, body)


def _resnet50(shape: tuple[int, ...], classes: int, brightest: int) -> Any:
    """keras.applications' ResNet50 with pixels from -1 to 1."""
    if min(shape[:2]) < SMALLEST_RESNET:
        raise TrainingError(
            f"--model resnet50: images are {shape[1]}x{shape[0]}; expected at least "
            f"{SMALLEST_RESNET}x{SMALLEST_RESNET}. Add --image-size {SMALLEST_RESNET} or more, or "
            "take --model cnn."
        )
    inputs = tf.keras.Input(shape=shape)
    scaled = tf.keras.layers.Rescaling(2.0 / brightest, offset=-1.0)(inputs)
    core = tf.keras.applications.ResNet50(weights=None, input_shape=shape, classes=classes)
    return tf.keras.Model(inputs, core(scaled), name="resnet50")


def _sequential(
    name: str, shape: tuple[int, ...], classes: int, brightest: int, body: Sequence[Any]
) -> Any:
    layers = tf.keras.layers
    entry = [layers.InputLayer(input_shape=shape), layers.Rescaling(1.0 / brightest)]
    head = [layers.Dense(classes, activation="softmax")]
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
