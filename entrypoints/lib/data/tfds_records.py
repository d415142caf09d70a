"""Records of TensorFlow's own file format, TFRecord, found and read one by one.

A record is a length of 8 bytes, its CRC of 4, the bytes, their CRC of 4, so that the records of a
file can be found without reading them.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from .. import storage
from ..arrays import Array
from ..errors import TrainingError


@dataclass(frozen=True)
class Records:
    """Pictures that are records of some TFRecord files; see ``encoded.Stored``.

    Attributes:
        files: Their paths.
        file_of: (n,) int64, which file each picture is in.
        offsets: (n,) int64, where its bytes begin.
        lengths: (n,) int64, how many they are.
        labels: (n,) int64.
        image: The name of the picture among a record's features.
    """

    files: tuple[str, ...]
    file_of: Array
    offsets: Array
    lengths: Array
    labels: Array
    image: str

    def first(self, limit: int | None) -> Records:
        """The first ``limit`` of them; all for None."""
        part = slice(limit)
        return Records(
            self.files,
            self.file_of[part],
            self.offsets[part],
            self.lengths[part],
            self.labels[part],
            self.image,
        )

    def name_of(self, number: int) -> str:
        """File and place in it."""
        return f"{self.files[self.file_of[number]]}, record at byte {self.offsets[number]}"

    def content(self, number: Any) -> Any:
        """A picture's bytes: a string tensor."""
        record = tf.numpy_function(lambda chosen: _read(self, int(chosen)), [number], tf.string)
        wanted = {self.image: tf.io.FixedLenFeature([], tf.string)}
        return tf.io.parse_single_example(tf.ensure_shape(record, []), wanted)[self.image]

    def fingerprint(self) -> int:
        """Of the records' lengths and labels."""
        lengths = zlib.crc32(np.ascontiguousarray(self.lengths, dtype="<i8").tobytes())
        return zlib.crc32(np.ascontiguousarray(self.labels, dtype="<i8").tobytes(), lengths)


def places_in_file(path: str) -> list[tuple[int, int]]:
    """(where its bytes begin, how many they are) of each whole record of a file."""
    found, at = [], 0
    with _opened(path) as file:
        size = file.seek(0, os.SEEK_END) or file.tell()
        while at + 12 <= size:
            file.seek(at)
            (length,) = struct.unpack("<Q", file.read(8))
            if at + 12 + length + 4 > size:
                break
            found.append((at + 12, length))
            at += 12 + length + 4
    return found


def labels_of(files: tuple[str, ...], label: str, classes: int) -> Array:
    """(n,) int64: the labels of all records in order.

    Raises:
        TrainingError: A file cannot be read, or has a label of no class.
    """
    wanted = {label: tf.io.FixedLenFeature([], tf.int64)}
    data = tf.data.TFRecordDataset(list(files)).batch(1024)
    try:
        batches = [tf.io.parse_example(batch, wanted)[label].numpy() for batch in data]
    except tf.errors.OpError as error:
        raise TrainingError(
            f"{files[0]}: its records cannot be read ({str(error.message).splitlines()[0]}). "
            "Copy it again."
        ) from error
    labels: Array = np.concatenate(batches).astype(np.int64)
    if labels.min() < 0 or labels.max() >= classes:
        raise TrainingError(
            f"{files[0]}: has labels from {labels.min()} to {labels.max()} and {classes} classes; "
            f"expected labels from 0 to {classes - 1}"
        )
    return labels


def _read(records: Records, number: int) -> bytes:
    with _opened(records.files[records.file_of[number]]) as file:
        file.seek(int(records.offsets[number]))
        return bytes(file.read(int(records.lengths[number])))


def _opened(path: str) -> Any:
    return tf.io.gfile.GFile(path, "rb") if storage.is_remote(path) else open(path, "rb")
