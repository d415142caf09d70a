"""The tf.data input of a rank, from a place of Parquet: encoded bytes, or decoded pictures.

Python hands TensorFlow some batches at once, so that its lock and the crossing are paid for a
thousand pictures together; decoding, resizing and batching are TensorFlow's own, in parallel.
"""

from __future__ import annotations

import contextlib
from typing import Any, Generator, Iterator

import numpy as np
import tensorflow as tf

from ..arrays import Array
from ..errors import TrainingError
from .reader import Batch, PictureReader

PICTURES_AT_ONCE = 256  # that cross from Python to TensorFlow together; more leave the cache
FILLING = -1.0  # weight of what fills up an epoch's short last batch on the way
FITS = ("stretch", "crop")
SCALES = (8, 4, 2)  # at which libjpeg can decode a part of the size


def encoded_batches(
    reader: PictureReader,
    *,
    epochs: int | None = None,
    steps: int | None = None,
    weights: bool = False,
) -> Any:
    """A tf.data.Dataset of the reader's batches as they are stored.

    Args:
        reader: Of this rank, with one worker; its ``start`` is where it begins.
        epochs: The epoch before which to end; endless for None.
        steps: Batches at most.
        weights: Whether the weights of ``Batch`` come too.

    Returns:
        Batches of (content (n,) string, labels (n,) int64[, weights (n,) float32]), prefetched.
    """
    batch_size = reader.division.batch_size
    data = _chunks(reader, epochs, steps).map(
        lambda *columns: tuple(tf.reshape(column, [-1, batch_size]) for column in columns)
    )
    return _finished(data.unbatch(), reader, weights)


def picture_batches(
    reader: PictureReader,
    *,
    size: tuple[int, int] = (224, 224),
    channels: int = 3,
    fit: str = "stretch",
    epochs: int | None = None,
    steps: int | None = None,
    weights: bool = False,
    scaled_decoding: bool = False,
) -> Any:
    """A tf.data.Dataset of the reader's batches, decoded (JPEG, PNG, BMP, the first of a GIF).

    Args:
        reader: Of this rank, with one worker; its ``start`` is where it begins.
        size: Rows and columns that the model wants.
        channels: 3, or 1 for grey.
        fit: "stretch" changes the ratio of the sides, "crop" cuts the longer ones evenly.
        epochs: The epoch before which to end; endless for None.
        steps: Batches at most.
        weights: Whether the weights of ``Batch`` come too.
        scaled_decoding: Decode a JPEG whose sides are at least 2, 4 or 8 times ``size`` at a half,
            a quarter or an eighth: faster, and other pixels (docs/data.md says by how much).

    Returns:
        Batches of (images (n, rows, columns, channels) float32, 0 to 255, labels (n,) int64[,
        weights (n,) float32]), prefetched.

    Raises:
        TrainingError: An unknown ``fit``. What is no picture ends the iteration with TensorFlow's
            InvalidArgumentError: see ``naming_bad_pictures``.
    """
    if fit not in FITS:
        raise TrainingError(f"fit {fit}: expected one of {', '.join(FITS)}")

    def decoded(content: Any, label: Any, weight: Any) -> Any:
        image = decode(content, size, channels, fit, scaled_decoding)
        return image, label, weight

    data = _chunks(reader, epochs, steps).unbatch()
    data = data.map(decoded, num_parallel_calls=tf.data.AUTOTUNE)
    data = data.batch(reader.division.batch_size, drop_remainder=True)
    return _finished(data, reader, weights)


def decode(
    content: Any,
    size: tuple[int, int],
    channels: int = 3,
    fit: str = "stretch",
    scaled_decoding: bool = False,
) -> Any:
    """One picture, (rows, columns, channels) float32 0 to 255, from its encoded bytes: a tensor.

    What it gives for the same bytes is the same in training, evaluation and prediction.
    """
    image = (
        _decoded_to_scale(content, size, channels)
        if scaled_decoding
        else tf.io.decode_image(content, channels=channels, expand_animations=False)
    )
    image.set_shape([None, None, channels])
    if fit == "crop":
        image = _cropped(image, size)
    image = tf.image.resize(image, size)  # float32, 0 to 255
    return tf.ensure_shape(image, [*size, channels])


@contextlib.contextmanager
def naming_bad_pictures(reader: PictureReader) -> Iterator[None]:
    """Around what reads ``picture_batches``: what is no picture is named with its path.

    Raises:
        TrainingError: Instead of TensorFlow's error, where a picture of late cannot be decoded.
    """
    try:
        yield
    except (tf.errors.InvalidArgumentError, tf.errors.UnknownError) as error:
        known = reader.failure or _first_bad(reader)
        if known is None:
            raise
        raise TrainingError(known) from error


def _chunks(reader: PictureReader, epochs: int | None, steps: int | None) -> Any:
    """Flat columns of whole batches, the short ones filled up: (content, labels, weights)."""

    def generate() -> Generator[Any, None, None]:
        size = reader.division.batch_size
        at_once = max(1, PICTURES_AT_ONCE // size)
        waiting: list[Batch] = []
        with _failure_kept(reader), contextlib.closing(
            reader.batches(epochs=epochs, steps=steps)
        ) as batches:
            for batch in batches:
                waiting.append(batch)
                if len(waiting) == at_once:
                    yield _together(waiting, size)
                    waiting = []
        if waiting:
            yield _together(waiting, size)

    signature = (
        tf.TensorSpec([None], tf.string),
        tf.TensorSpec([None], tf.int64),
        tf.TensorSpec([None], tf.float32),
    )
    return tf.data.Dataset.from_generator(generate, output_signature=signature).prefetch(1)


@contextlib.contextmanager
def _failure_kept(reader: PictureReader) -> Iterator[None]:
    """TensorFlow raises an error of its own for what Python raised in its thread."""
    try:
        yield
    except TrainingError as error:
        reader.failure = str(error)
        raise


def _together(batches: list[Batch], size: int) -> tuple[Array, Array, Array]:
    filled = [(one.content, one.labels, one.weights) for one in batches]
    for number, (content, labels, weights) in enumerate(filled):
        missing = size - len(labels)
        if missing:
            filled[number] = (
                np.concatenate([content, np.repeat(content[:1], missing)]),
                np.concatenate([labels, np.repeat(labels[:1], missing)]),
                np.concatenate([weights, np.full(missing, FILLING, np.float32)]),
            )
    content, labels, weights = (np.concatenate(column) for column in zip(*filled))
    return content, labels, weights


def _finished(data: Any, reader: PictureReader, weights: bool) -> Any:
    def without_filling(content: Any, labels: Any, given: Any) -> Any:
        count = tf.math.count_nonzero(given >= 0)
        columns = (content, labels, given) if weights else (content, labels)
        return tf.cond(
            count == reader.division.batch_size,
            lambda: columns,
            lambda: tuple(column[:count] for column in columns),
        )

    if reader.has_short_batches:
        data = data.map(without_filling)
    elif not weights:
        data = data.map(lambda content, labels, _: (content, labels))
    return data.prefetch(2)


def _cropped(image: Any, size: tuple[int, int]) -> Any:
    """The middle of ``image`` in the ratio of ``size``."""
    shape = tf.shape(image)
    rows = tf.minimum(shape[0], shape[1] * size[0] // size[1])
    columns = tf.minimum(shape[1], shape[0] * size[1] // size[0])
    top, left = (shape[0] - rows) // 2, (shape[1] - columns) // 2
    return image[top : top + rows, left : left + columns]


def _decoded_to_scale(content: Any, size: tuple[int, int], channels: int) -> Any:
    def whole() -> Any:
        return tf.io.decode_image(content, channels=channels, expand_animations=False)

    def at(scale: int) -> Any:
        return lambda: tf.io.decode_jpeg(content, channels=channels, ratio=scale)

    def jpeg() -> Any:
        shape = tf.io.extract_jpeg_shape(content)
        fits = tf.minimum(shape[0] // size[0], shape[1] // size[1])
        return tf.case([(fits >= scale, at(scale)) for scale in SCALES], default=whole)

    return tf.cond(tf.io.is_jpeg(content), jpeg, whole)


def _first_bad(reader: PictureReader) -> str | None:
    """What is wrong with the first picture of those read of late that cannot be decoded."""
    for rows in list(reader.recent):
        for row in rows.tolist():
            try:
                tf.io.decode_image(reader.pictures.content_of(row), expand_animations=False)
            except tf.errors.InvalidArgumentError as error:
                return (
                    f"{reader.pictures.path_of(row)}: cannot be decoded as a picture "
                    f"({str(error)[:200]}). Convert again with --bad-images skip."
                )
    return None
