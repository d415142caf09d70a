"""Batches of Dask's workers as a tf.data input."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import tensorflow as tf

from .dask_augmentation import AugmentedReader


def augmented_batches(
    reader: AugmentedReader,
    *,
    epochs: int | None = None,
    steps: int | None = None,
    weights: bool = False,
) -> Any:
    """A tf.data.Dataset of (images float32 (n, height, width, channels) of 0 to 255, labels int64
    (n,)), and with ``weights`` a third, float32 (n,), that is 0 for repeated pictures.

    Args:
        reader: Of this rank.
        epochs: The epoch before which to end; endless for None.
        steps: Batches at most.
        weights: Whether each picture's weight is given.
    """
    (width, height), channels = reader.augmentation.size, reader.augmentation.channels

    def generate() -> Iterator[tuple[Any, ...]]:
        with contextlib.closing(reader.batches(epochs=epochs, steps=steps)) as batches:
            for batch in batches:
                yield batch.images, batch.labels, batch.weights

    def as_trained(images: Any, labels: Any, weight: Any) -> tuple[Any, ...]:
        pixels = tf.cast(images, tf.float32)
        return (pixels, labels, weight) if weights else (pixels, labels)

    signature = (
        tf.TensorSpec((None, height, width, channels), tf.uint8),
        tf.TensorSpec((None,), tf.int64),
        tf.TensorSpec((None,), tf.float32),
    )
    found = tf.data.Dataset.from_generator(generate, output_signature=signature)
    return found.map(as_trained).prefetch(1)


@contextlib.contextmanager
def naming_lost_workers(reader: AugmentedReader) -> Iterator[None]:
    """TensorFlow's error about a batch that doesn't come becomes the one that says why.

    Raises:
        TrainingError: Instead.
    """
    try:
        yield
    except Exception as error:
        if reader.failure is None:
            raise
        raise reader.failure from error
