"""JPEG files in class folders, read one by one through tf.data as its guide tunes it."""

from __future__ import annotations

import argparse
from pathlib import Path

import tensorflow as tf
from counting import count
from counting import parser as arguments


def main() -> None:
    """Read and count."""
    parser = arguments()
    parser.add_argument("--decode", default="no", choices=["no", "graph"])
    asked = parser.parse_args()
    count(asked, lambda: opened(asked))


def opened(asked: argparse.Namespace) -> tf.data.Dataset:
    """Endless shuffled batches of (pictures, labels) of a shard."""
    folders = sorted(one for one in Path(asked.place).iterdir() if one.is_dir())
    found = [
        (str(file), label)
        for label, folder in enumerate(folders)
        for file in sorted(folder.iterdir())
    ][asked.shard :: asked.shards]
    names, labels = zip(*found, strict=True)
    data = tf.data.Dataset.from_tensor_slices((list(names), list(labels)))
    data = data.shuffle(len(names)).repeat()

    def read(name, label):  # type: ignore[no-untyped-def]
        content = tf.io.read_file(name)
        if asked.decode == "no":
            return content, label
        picture = tf.io.decode_jpeg(content, channels=3)
        return tf.image.resize(picture, [asked.side, asked.side]), label

    data = data.map(read, num_parallel_calls=tf.data.AUTOTUNE)
    return data.batch(asked.batch).prefetch(tf.data.AUTOTUNE)


if __name__ == "__main__":
    main()
