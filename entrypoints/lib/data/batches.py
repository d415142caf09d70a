"""The tf.data input of a rank, from images in memory."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ..arrays import Array
from . import shards
from .in_memory import Images


def training_batches(
    images: Images,
    *,
    rank: int,
    world_size: int,
    batch_size: int,
    steps: int,
    seed: int,
    first_epoch: int,
    epochs: int,
) -> Any:
    """The batches of epochs ``first_epoch`` to ``epochs`` - 1 for one rank, one after the other.

    Each epoch has exactly ``steps`` batches of (float32 images, int64 labels), in the order that
    seed and epoch decide, so a run that starts in a later epoch reads what an uninterrupted one
    would have read.
    """
    with tf.device("CPU:0"):
        pixels = tf.constant(images.training_images)
        labels = tf.constant(images.training_labels)
    count = len(images.training_labels)

    def numbers(epoch: Array) -> Array:
        order = shards.epoch_order(count, seed, int(epoch))
        return shards.training_shard(order, rank, world_size)

    def one_epoch(epoch: Any) -> Any:
        mine = tf.ensure_shape(tf.numpy_function(numbers, [epoch], tf.int64), [None])
        return tf.data.Dataset.range(steps).map(
            lambda step: batch(mine[step * batch_size : (step + 1) * batch_size])
        )

    def batch(chosen: Any) -> Any:
        return tf.cast(tf.gather(pixels, chosen), tf.float32), tf.gather(labels, chosen)

    return tf.data.Dataset.range(first_epoch, epochs).flat_map(one_epoch).prefetch(2)
