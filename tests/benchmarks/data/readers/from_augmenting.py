"""Batches of augmented pictures (crop, flip, rotate, color), made by Dask's workers or in the rank.

``--train`` trains a small network on one core with each batch: is there a core left beside it?
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from counting import count
from counting import parser as arguments
from lib.data import dask_tasks
from lib.data.dask_augmentation import Augmentation, AugmentedReader
from lib.data.dask_tensorflow import augmented_batches
from lib.data.division import Division
from lib.data.parquet_place import open_place
from lib.data.reader import PictureReader

KINDS = ("crop", "flip", "rotate", "color")


def main() -> None:
    """Read, train where that is asked, and count."""
    parser = arguments()
    parser.add_argument("--scheduler", default="", help="of Dask; without it the rank augments")
    parser.add_argument("--train", action="store_true")
    asked = parser.parse_args()
    if asked.train:
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    count(asked, lambda: _trained(_batches(asked), asked) if asked.train else _batches(asked))


def _batches(asked: argparse.Namespace) -> Any:
    division = Division(ranks=asked.shards, batch_size=asked.batch)
    reader = PictureReader(open_place(asked.place), division, rank=asked.shard, seed=13)
    size = (asked.side, asked.side)
    if asked.scheduler:
        return augmented_batches(
            AugmentedReader(reader, asked.scheduler, Augmentation(size, augment=KINDS, seed=13))
        )
    return _in_the_rank(reader, size)


def _in_the_rank(reader: PictureReader, size: tuple[int, int]) -> Any:
    def generate() -> Iterator[tuple[Any, Any]]:
        how = {"size": size, "fit": "crop", "channels": 3, "augment": KINDS, "seed": 13}
        for batch in reader.batches():
            of_epoch = {**how, "epoch": batch.epoch}
            rows = zip(batch.content, batch.rows.tolist(), strict=True)
            yield np.stack([dask_tasks.picture(*one, of_epoch) for one in rows]), batch.labels

    pictures = tf.TensorSpec((None, size[1], size[0], 3), tf.uint8)
    data = tf.data.Dataset.from_generator(
        generate, output_signature=(pictures, tf.TensorSpec((None,), tf.int64))
    )
    return data.map(lambda images, labels: (tf.cast(images, tf.float32), labels)).prefetch(4)


def _trained(data: Any, asked: argparse.Namespace) -> Iterator[Any]:
    model = tf.keras.applications.MobileNetV2(
        weights=None, input_shape=(asked.side, asked.side, 3), alpha=0.35, classes=10
    )
    optimizer = tf.keras.optimizers.SGD(0.01)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy()

    @tf.function(reduce_retracing=True)
    def step(images, labels):  # type: ignore[no-untyped-def]
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images / 127.5 - 1.0, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    for images, labels in data:
        float(step(images, labels))
        yield images, labels


if __name__ == "__main__":
    main()
