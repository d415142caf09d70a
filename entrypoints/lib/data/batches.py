"""The tf.data input of a rank, from images in memory."""

from __future__ import annotations

from typing import Any, Sequence

import tensorflow as tf

from ..arrays import Array
from .numbered import Fetch, test_numbers


def fetch(images: Array, labels: Array, shape: Sequence[int]) -> Fetch:
    """Gives float32 images of that shape and int64 labels by their numbers.

    Args:
        images: (n, rows, columns, channels) uint8.
        labels: (n,) int64.
        shape: (rows, columns, channels) that images are brought to.
    """
    with tf.device("CPU:0"):
        pixels, classes = tf.constant(images), tf.constant(labels)
    size = None if tuple(shape) == images.shape[1:] else tuple(shape)[:2]

    def of_numbers(chosen: Any) -> tuple[Any, Any]:
        found = tf.cast(tf.gather(pixels, chosen), tf.float32)
        if size is not None:
            found = tf.image.resize(found, size)
        return found, tf.gather(classes, chosen)

    return of_numbers


def test_batches(samples: int, fetch: Fetch, rank: int, world_size: int, batch_size: int) -> Any:
    """A tf.data.Dataset of this rank's test batches; over all ranks each sample once."""
    batches = test_numbers(samples, rank, world_size, batch_size)
    numbers = tf.data.Dataset.from_generator(
        lambda: iter(batches), output_signature=tf.TensorSpec([None], tf.int64)
    )
    return numbers.map(fetch).prefetch(2)
