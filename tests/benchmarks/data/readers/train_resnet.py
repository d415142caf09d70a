"""A rank that trains ResNet50 by Horovod: steps, and how long each waits for its batch.

``--from parquet`` reads by PictureReader, ``--from files`` by tf.data from class folders.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

import from_files
import horovod.tensorflow as hvd
import tensorflow as tf
from lib.data.division import Division
from lib.data.parquet_place import open_place
from lib.data.reader import PictureReader
from lib.data.tensorflow import picture_batches


def main() -> None:
    """Rank 0 writes one JSON line to the file that FIGURES names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("place")
    parser.add_argument("--from", dest="origin", choices=["parquet", "files"])
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=20)
    asked = parser.parse_args()
    hvd.init()
    cores = max(1, len(os.sched_getaffinity(0)) // hvd.local_size())
    tf.config.threading.set_intra_op_parallelism_threads(cores)
    model = tf.keras.applications.ResNet50(
        weights=None, input_shape=(asked.side, asked.side, 3), classes=10
    )
    optimizer = tf.keras.optimizers.SGD(0.01)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy()
    hvd.broadcast_variables(model.variables, root_rank=0)

    @tf.function
    def step(images, labels):  # type: ignore[no-untyped-def]
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images / 127.5 - 1.0, training=True))
        gradients = hvd.DistributedGradientTape(tape).gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    batches, waited, begin = iter(_batches(asked)), 0.0, 0.0
    for number in range(asked.steps + 2):  # the first two trace and fill
        if number == 2:
            waited, begin = 0.0, time.perf_counter()
        asking = time.perf_counter()
        images, labels = next(batches)
        waited += time.perf_counter() - asking
        float(step(images, labels))
    wall = time.perf_counter() - begin
    if hvd.rank() == 0:
        rate = asked.steps * asked.batch * hvd.size() / wall
        said = {"rate": rate, "waited": waited / wall, "step": wall / asked.steps}
        with open(os.environ["FIGURES"], "w") as file:
            json.dump(said, file)
    hvd.shutdown()
    sys.stdout.flush()
    os._exit(0)


def _batches(asked: argparse.Namespace) -> tf.data.Dataset:
    if asked.origin == "files":
        asked.shard, asked.shards, asked.decode = hvd.rank(), hvd.size(), "graph"
        return from_files.opened(asked)
    division = Division(ranks=hvd.size(), batch_size=asked.batch)
    reader = PictureReader(open_place(asked.place), division, rank=hvd.rank(), seed=13)
    return picture_batches(reader, size=(asked.side, asked.side))


if __name__ == "__main__":
    main()
