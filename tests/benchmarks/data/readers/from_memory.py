"""The limit: the same bytes, all in memory, shuffled, batched (and decoded) by tf.data."""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow.parquet
import tensorflow as tf
from counting import count
from counting import parser as arguments


def main() -> None:
    """Read and count."""
    parser = arguments()
    parser.add_argument("--decode", default="no", choices=["no", "graph"])
    parser.add_argument("--ratio", type=int, default=1)
    parser.add_argument("--dct", default="")
    asked = parser.parse_args()
    count(asked, lambda: _batches(asked))


def _batches(asked: argparse.Namespace) -> tf.data.Dataset:
    contents, labels = [], []
    for file in sorted(Path(asked.place).glob("*.parquet")):
        table = pyarrow.parquet.read_table(file, columns=["content", "label"])
        contents += table["content"].to_pylist()
        labels += table["label"].to_pylist()
    rows = slice(asked.shard, None, asked.shards)
    data = tf.data.Dataset.from_tensor_slices((contents[rows], labels[rows]))
    data = data.shuffle(asked.buffer).repeat()
    if asked.decode == "graph":

        def decoded(content, label):  # type: ignore[no-untyped-def]
            picture = tf.io.decode_jpeg(
                content, channels=3, ratio=asked.ratio, dct_method=asked.dct
            )
            return tf.image.resize(picture, [asked.side, asked.side]), label

        data = data.map(decoded, num_parallel_calls=tf.data.AUTOTUNE)
    return data.batch(asked.batch).prefetch(tf.data.AUTOTUNE)


if __name__ == "__main__":
    main()
