"""The tf.data input of a rank, from a place of Parquet: encoded bytes, or decoded pictures.

Python hands TensorFlow some batches at once, so that its lock and the crossing are paid for a
thousand pictures together; cutting these into batches, decoding and resizing are TensorFlow's own.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Generator, Iterator, Tuple

import numpy as np
import tensorflow as tf

from ..arrays import Array
from ..errors import TrainingError
from .reader import Batch, PictureReader
from .tensorflow_decoding import decode, remedy, why_not_decoded

PICTURES_AT_ONCE = 1024  # that cross from Python to TensorFlow together at most
BYTES_AT_ONCE = 16 << 20  # that these have, roughly
FILLING = -1.0  # weight of what fills up an epoch's short last batch on the way
FITS = ("stretch", "crop")
_KINDS = (tf.string, tf.int64, tf.float32)  # of content, labels and weights
Columns = Tuple[Array, ...]


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
        Batches of (content (n,) string, labels (n,) int64[, weights (n,) float32]), prefetched. A
        batch is a part of what crossed at once, which is in memory as long as one of its batches.
    """
    count = 3 if weights else 2
    size, whole = reader.division.batch_size, not reader.has_short_batches

    def columns(batch: Batch) -> Columns:
        return (batch.content, batch.labels, batch.weights)[:count]

    def cut(*columns: Any) -> Any:
        some = tf.data.Dataset.from_tensors(columns)
        # rebatch gives parts of the tensors (where they are aligned: batches of 8, 16, ...), and
        # unbatch a copy of each picture.
        if hasattr(some, "rebatch"):
            return some.rebatch(size, drop_remainder=whole)
        return some.unbatch().batch(size, drop_remainder=whole)

    return _generated(reader, epochs, steps, columns, count).flat_map(cut).prefetch(2)


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
    as_seen: bool = False,
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
        as_seen: Turn pictures as their EXIF data say, and fill what is transparent with white.

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
        image = decode(content, size, channels, fit, scaled_decoding, as_seen)
        return image, label, weight

    batch_size = reader.division.batch_size

    def filled(batch: Batch) -> Columns:
        return _filled(batch, batch_size)

    data = _generated(reader, epochs, steps, filled, len(_KINDS)).unbatch()
    data = data.map(decoded, num_parallel_calls=tf.data.AUTOTUNE)
    data = data.batch(batch_size, drop_remainder=True)
    return _finished(data, reader, weights)


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


def _generated(
    reader: PictureReader,
    epochs: int | None,
    steps: int | None,
    columns: Callable[[Batch], Columns],
    count: int,
) -> Any:
    """Elements of the first ``count`` of _KINDS: the ``columns`` of some batches at once."""
    at_once = _batches_at_once(reader)

    def generate() -> Generator[Any, None, None]:
        with _failure_kept(reader), contextlib.closing(
            reader.batches(epochs=epochs, steps=steps, at_once=at_once)
        ) as batches:
            yield from map(columns, batches)

    signature = tuple(tf.TensorSpec([None], kind) for kind in _KINDS[:count])
    return tf.data.Dataset.from_generator(generate, output_signature=signature).prefetch(1)


def _batches_at_once(reader: PictureReader) -> int:
    of_one = max(1.0, reader.pictures.bytes_per_picture)
    some = min(PICTURES_AT_ONCE, int(BYTES_AT_ONCE / of_one))
    return max(1, some // reader.division.batch_size)


@contextlib.contextmanager
def _failure_kept(reader: PictureReader) -> Iterator[None]:
    """TensorFlow raises an error of its own for what Python raised in its thread."""
    try:
        yield
    except TrainingError as error:
        reader.failure = str(error)
        raise


def _filled(batch: Batch, size: int) -> Columns:
    """Content, labels and weights, up to a multiple of ``size``."""
    content, labels, weights = batch.content, batch.labels, batch.weights
    missing = -len(labels) % size
    if missing:
        content = np.concatenate([content, np.repeat(content[:1], missing)])
        labels = np.concatenate([labels, np.repeat(labels[:1], missing)])
        weights = np.concatenate([weights, np.full(missing, FILLING, np.float32)])
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


def _first_bad(reader: PictureReader) -> str | None:
    """What is wrong with a picture of those read of late, the last ones first, if one is none."""
    for rows in reversed(list(reader.recent)):
        for row, content in reader.pictures.contents_of(rows):
            why = why_not_decoded(content)
            if why is not None:
                mend = remedy(content, "Convert again with --bad-images skip.")
                return (
                    f"{reader.pictures.path_of(row)}: cannot be decoded as a picture "
                    f"({why[:200]}). {mend}"
                )
    return None
