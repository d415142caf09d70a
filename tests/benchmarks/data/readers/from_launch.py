"""Our reader: PictureReader and tf.data, as the shared training script uses them."""

from __future__ import annotations

import argparse

import tensorflow as tf
from counting import count
from counting import parser as arguments
from lib.data.division import Division
from lib.data.parquet_place import open_place
from lib.data.reader import PictureReader
from lib.data.tensorflow import encoded_batches, picture_batches


def main() -> None:
    """Read and count."""
    parser = arguments()
    parser.add_argument("--decode", default="no", choices=["no", "graph"])
    parser.add_argument("--scaled", action="store_true")
    parser.add_argument("--threads", type=int)
    asked = parser.parse_args()
    count(asked, lambda: _batches(asked))


def _batches(asked: argparse.Namespace) -> tf.data.Dataset:
    pictures = open_place(asked.place, split="train")
    division = Division(ranks=asked.shards, batch_size=asked.batch)
    options = {"threads": asked.threads} if asked.threads else {}
    reader = PictureReader(pictures, division, rank=asked.shard, seed=13, **options)
    if asked.decode == "no":
        return encoded_batches(reader)
    size = (asked.side, asked.side)
    return picture_batches(reader, size=size, scaled_decoding=asked.scaled)


if __name__ == "__main__":
    main()
