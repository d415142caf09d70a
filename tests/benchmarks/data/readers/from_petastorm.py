"""petastorm's make_batch_reader, as its documentation has it for TensorFlow; in an environment of
its own. Says its rate as counting.py tells.

--consumer rows: unbatch, shuffle, batch. groups: each row group shuffled whole, then batched, which
is faster where there is nothing to decode. --decode spec: rows decoded by a TransformSpec, as is
often done; --decode graph: decoded by tf.data.
"""

from __future__ import annotations

import argparse

import numpy as np
import tensorflow as tf
from counting import count
from counting import parser as arguments
from petastorm import make_batch_reader
from petastorm.tf_utils import make_petastorm_dataset
from petastorm.transform import TransformSpec


def main() -> None:
    """Read and count."""
    parser = arguments()
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--pool", default="thread")
    parser.add_argument("--consumer", default="rows", choices=["rows", "groups"])
    parser.add_argument("--decode", default="no", choices=["no", "spec", "graph"])
    asked = parser.parse_args()
    count(asked, lambda: _opened(asked))


def _opened(asked: argparse.Namespace) -> tf.data.Dataset:
    options = {}
    if asked.shards > 1:
        options = {"cur_shard": asked.shard, "shard_count": asked.shards}
    reader = make_batch_reader(
        f"file://{asked.place}",
        schema_fields=["label", "content"],
        num_epochs=None,
        workers_count=asked.workers,
        reader_pool_type=asked.pool,
        transform_spec=_decoding_rows(asked.side) if asked.decode == "spec" else None,
        **options,
    )
    return _batches(make_petastorm_dataset(reader), asked)


def _batches(data: tf.data.Dataset, asked: argparse.Namespace) -> tf.data.Dataset:
    data = data.map(lambda group: (group.content, group.label))
    if asked.consumer == "rows":
        data = data.unbatch().shuffle(asked.buffer)
        if asked.decode == "graph":
            data = data.map(_decoded(asked.side), num_parallel_calls=tf.data.AUTOTUNE)
        return data.batch(asked.batch).prefetch(tf.data.AUTOTUNE)
    data = data.map(_shuffled).rebatch(asked.batch)
    if asked.decode == "graph":
        data = data.unbatch().map(_decoded(asked.side), num_parallel_calls=tf.data.AUTOTUNE)
        data = data.batch(asked.batch)
    return data.prefetch(tf.data.AUTOTUNE)


def _shuffled(content, label):  # type: ignore[no-untyped-def]
    order = tf.random.shuffle(tf.range(tf.shape(label)[0]))
    return tf.gather(content, order), tf.gather(label, order)


def _decoded(side: int):  # type: ignore[no-untyped-def]
    def decode(content, label):  # type: ignore[no-untyped-def]
        picture = tf.io.decode_jpeg(content, channels=3)
        return tf.image.resize(picture, [side, side]), label

    return decode


def _decoding_rows(side: int) -> TransformSpec:
    import io

    from PIL import Image

    def pixels(content: bytes) -> np.ndarray:
        picture = Image.open(io.BytesIO(content)).convert("RGB").resize((side, side), 2)
        return (np.asarray(picture, np.float32)).reshape(-1)

    def rows(frame):  # type: ignore[no-untyped-def]
        frame["content"] = frame["content"].map(pixels)
        return frame

    return TransformSpec(rows, edit_fields=[("content", np.float32, (side * side * 3,), False)])


if __name__ == "__main__":
    main()
