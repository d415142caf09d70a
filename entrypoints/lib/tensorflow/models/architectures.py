"""Keras models for images of any size. Pixels go in as they are stored, probabilities come out."""

from __future__ import annotations

from typing import Any, Sequence

import tensorflow as tf

from ...errors import TrainingError

DENSE_SIDE = 32  # pixels a side that the mlp sees at most; larger images are averaged down to it
MAP_SIDE = 8  # of the cnn's last feature map, at most
APPLICATIONS = {"resnet50": "ResNet50", "efficientnetb0": "EfficientNetB0"}
SMALLEST = 32  # pixels a side; keras.applications take none smaller
# What pixels are made into before an application's first layer: FRESH weights learn from any
# range, IMAGENET ones want what they were trained on (keras.applications' preprocess_input).
FRESH, IMAGENET = "fresh", "imagenet"
# Of ImageNet's pixels, red, green and blue: the mean of 0 to 255 that ResNet50's weights want
# taken off (its "caffe" mode), and mean and deviation of 0 to 1 for EfficientNetB0's.
CAFFE_MEAN = (123.68, 116.779, 103.939)
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def build(
    name: str,
    shape: Sequence[int],
    classes: int,
    brightest: int,
    *,
    pixels: str = FRESH,
    dropout: float = 0.0,
    seed: int | None = None,
    before: Sequence[Any] = (),
    at_rest: bool = False,
) -> Any:
    """A Keras model of kind ``name`` with fresh weights: a body, and a head of one dense layer.

    ``mlp`` and ``cnn`` have no state beside their trainable weights. ``resnet50`` and
    ``efficientnetb0`` have the moving statistics of their batch normalisation, which every rank
    gathers from its own samples: ``HorovodRanks.average_variables`` makes them one before they are
    used or written. All of them are in ``model.weights``, so a checkpoint is complete.

    Args:
        name: ``mlp``, ``cnn``, ``resnet50`` or ``efficientnetb0``.
        shape: (rows, columns, channels) of an image.
        classes: Length of the output, a probability each.
        brightest: The largest pixel value; scaled inside the model, so that who serves it needs to
            know nothing.
        pixels: FRESH, or IMAGENET for weights that were trained so.
        dropout: Share of what goes into the head that is dropped in training; 0 for no such layer.
        seed: Of what is dropped, beside TensorFlow's own.
        before: Layers without weights that the pixels go through first.
        at_rest: Whether a body of keras.applications computes as it does when it predicts, while
            the head trains.

    Raises:
        TrainingError: The images are too small for it.
    """
    rows, columns, channels = shape
    if name in APPLICATIONS:
        _check_size(name, rows, columns)
        inputs = tf.keras.Input(shape=(rows, columns, channels))
        body = _application(name, (rows, columns, 3 if pixels == IMAGENET else channels))
        found = inputs
        for layer in (*before, *_entry(name, channels, brightest, pixels)):
            found = layer(found)
        found = body(found, training=False) if at_rest else body(found)
        for layer in _head(classes, dropout, seed):
            found = layer(found)
        return tf.keras.Model(inputs, found, name=name)
    layers = tf.keras.layers
    entry = [layers.InputLayer(input_shape=shape), *before, layers.Rescaling(1.0 / brightest)]
    made = _mlp(rows, columns) if name == "mlp" else _cnn(rows, columns)
    return tf.keras.Sequential([*entry, *made, *_head(classes, dropout, seed)], name=name)


def body_of(model: Any) -> list[Any]:
    """The layers between scaling and head, first to last; an application's own."""
    for layer in model.layers:
        if isinstance(layer, tf.keras.Model):
            return list(layer.layers)
    scaled = next(i for i, one in enumerate(model.layers) if type(one).__name__ == "Rescaling")
    head = [one for one in model.layers if type(one).__name__ == "Dropout"] or model.layers[-1:]
    return list(model.layers[scaled + 1 : model.layers.index(head[0])])


def _mlp(rows: int, columns: int) -> list[Any]:
    layers = tf.keras.layers
    pools = tuple(max(1, -(-side // DENSE_SIDE)) for side in (rows, columns))
    smaller = [layers.AveragePooling2D(pools)] if max(pools) > 1 else []
    return [*smaller, layers.Flatten(), layers.Dense(128, activation="relu")]


def _cnn(rows: int, columns: int) -> list[Any]:
    """Two blocks of convolution and pooling, and as many more as large images need."""
    layers = tf.keras.layers
    body: list[Any] = []
    side, filters = min(rows, columns), 32
    while len(body) < 4 or side > MAP_SIDE:
        body.append(layers.Conv2D(filters, 3, padding="same", activation="relu"))
        body.append(layers.MaxPooling2D(padding="valid" if side > 1 else "same"))
        side, filters = max(1, side // 2), min(filters * 2, 128)
    return [*body, layers.Flatten(), layers.Dense(128, activation="relu")]


def _application(name: str, shape: tuple[int, int, int]) -> Any:
    """Without a head, and without weights of Keras's own: see ``weights``."""
    make = getattr(tf.keras.applications, APPLICATIONS[name])
    return make(weights=None, include_top=False, pooling="avg", input_shape=shape)


def _entry(name: str, channels: int, brightest: int, pixels: str) -> list[Any]:
    """From stored pixels to what the application's first layer expects.

    EfficientNetB0 begins with a division by 255 and a normalisation that does nothing unless it is
    given statistics; here it is given none, whichever TensorFlow, and what it should do is done
    before. (keras.applications divides by the square root of the deviation alone, and from
    TensorFlow 2.9 on once more where weights="imagenet": tensorflow/tensorflow issue 49930.)
    """
    layers = tf.keras.layers
    if pixels == FRESH:
        if name == "resnet50":
            return [layers.Rescaling(2.0 / brightest, offset=-1.0)]
        return [layers.Rescaling(255.0 / brightest)]
    coloured = [] if channels == 3 else [_Coloured()]
    if name == "resnet50":
        offset = [-mean for mean in CAFFE_MEAN]
        return [*coloured, layers.Rescaling(255.0 / brightest, offset=offset)]
    scale = [255.0 / brightest / deviation for deviation in DEVIATION]
    offset = [-255.0 * mean / deviation for mean, deviation in zip(MEAN, DEVIATION)]
    return [*coloured, layers.Rescaling(scale, offset=offset)]


class _Coloured:
    """Three equal channels of a grey one, by a layer that any Keras can load."""

    def __call__(self, grey: Any) -> Any:
        return tf.keras.layers.Concatenate()([grey, grey, grey])


def _head(classes: int, dropout: float, seed: int | None) -> list[Any]:
    """The last layer is float32 under any policy, so that probabilities add up to 1."""
    layers = tf.keras.layers
    drop = [layers.Dropout(dropout, seed=seed)] if dropout else []
    return [*drop, layers.Dense(classes, activation="softmax", dtype="float32")]


def _check_size(name: str, rows: int, columns: int) -> None:
    if min(rows, columns) < SMALLEST:
        raise TrainingError(
            f"--model {name}: images are {columns}x{rows}; expected at least "
            f"{SMALLEST}x{SMALLEST}. Add --image-size {SMALLEST} or more, or take --model cnn."
        )
