"""Data sets of encoded pictures that are read by their number when they are due.

What is in memory is where each picture lies, never the pictures. Who decodes them is a subclass's
matter: TensorFlow in ``encoded``, Pillow in ``decoded``.
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .. import storage
from ..arrays import Array

CHANNELS = 3  # grey pictures are brought to three equal ones
USUAL_SIDE = 224  # where pictures have different sizes; what ResNet50 was made for
LOOKED_AT = 64  # pictures whose size decides
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
MEND = "Mend or remove it; `launch data parquet` leaves such pictures out and lists them."


class Stored(Protocol):
    """Some pictures in the form in which they are stored."""

    @property
    def labels(self) -> Array:
        """(n,) int64."""

    def name_of(self, number: int) -> str:
        """Where picture ``number`` lies, for people."""

    def content(self, number: Any) -> Any:
        """Its bytes: a string tensor from a number's; may be called while a graph is made."""

    def fingerprint(self) -> int:
        """A number that differs where pictures were added, removed or renamed."""


@dataclass(frozen=True)
class FilePictures:
    """Pictures that are a file each.

    Attributes:
        paths: Of the files, on this machine or with a scheme.
        names: The same below the data set's folder.
        labels: (n,) int64.
    """

    paths: tuple[str, ...]
    names: tuple[str, ...]
    labels: Array

    def first(self, limit: int | None) -> FilePictures:
        """``limit`` of them, evenly over all classes; all of them for None."""
        if limit is None or limit >= len(self.labels):
            return self
        chosen = np.linspace(0, len(self.labels) - 1, limit).astype(np.int64)
        paths, names = ([all_[n] for n in chosen.tolist()] for all_ in (self.paths, self.names))
        return FilePictures(tuple(paths), tuple(names), self.labels[chosen])

    def name_of(self, number: int) -> str:
        """The file's path, as it can be printed."""
        return printable(self.paths[number])

    def content(self, number: Any) -> Any:
        """The file's bytes, as a tensor."""
        import tensorflow as tf

        with tf.device("CPU:0"), tf.init_scope():
            paths = tf.constant(self._encoded_paths)
        return tf.io.read_file(tf.gather(paths, number))

    def read(self, number: int) -> bytes:
        """The file's bytes. Raises OSError."""
        return storage.read(self.paths[number])

    @property
    def _encoded_paths(self) -> list[bytes]:
        """A property: what ``content`` calls would be rewritten by TensorFlow's AutoGraph."""
        return [os.fsencode(path) for path in self.paths]

    def fingerprint(self) -> int:
        """Of the names and their classes."""
        names = zlib.crc32("\0".join(self.names).encode("utf-8", "surrogateescape"))
        return zlib.crc32(np.ascontiguousarray(self.labels, dtype="<i8").tobytes(), names)


class StoredPictures:
    """What is known of such a data set before a picture is decoded; see ``dataset.DataSet``.

    Args:
        name: The kind.
        origin: Where it was found.
        class_names: Of the classes, by label.
        training: To train on.
        test: To test on.
        size: (width, height) that the model gets; None for the stored one where all have one.
        scaled: Whether large JPEG pictures are decoded at reduced size.

    Raises:
        TrainingError: One of the pictures that are looked at is none.
    """

    brightest = 255

    def __init__(
        self,
        name: str,
        origin: str,
        class_names: tuple[str, ...],
        training: Any,
        test: Any,
        size: tuple[int, int] | None,
        scaled: bool = False,
    ):
        self.name, self.origin, self.class_names = name, printable(origin), class_names
        self.classes = len(class_names)
        self._training, self._test, self._scaled = training, test, scaled
        found = self.stored_size(training)
        self._size = size or found or (USUAL_SIDE, USUAL_SIDE)

    def stored_size(self, stored: Any) -> tuple[int, int] | None:
        """(width, height) of the pictures where all that are looked at have one, else None.

        Raises:
            TrainingError: One of them is no picture.
        """
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, int, int]:
        """(rows, columns, channels) of a picture as the model gets it."""
        return (self._size[1], self._size[0], CHANNELS)

    @property
    def training_count(self) -> int:
        """Samples of an epoch."""
        return len(self._training.labels)

    @property
    def test_count(self) -> int:
        """Samples to test on."""
        return len(self._test.labels)

    def fingerprint(self) -> tuple[int, ...]:
        """Counts, what is stored, and the size that was chosen."""
        stored = (self._training.fingerprint(), self._test.fingerprint())
        return (self.training_count, self.test_count, *stored, *self._size)


def printable(path: str) -> str:
    """A path for people, in one line: a byte of it that is no UTF-8 as in ``bad\\xff.png``, a line
    end or what a terminal would obey as in ``two\\nlines.png``."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def looked_at(stored: Stored) -> list[int]:
    """The numbers of the pictures whose size decides, evenly over all."""
    count = len(stored.labels)
    chosen = np.unique(np.linspace(0, count - 1, min(count, LOOKED_AT)).astype(np.int64))
    found: list[int] = chosen.tolist()
    return found
