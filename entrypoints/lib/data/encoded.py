"""Encoded pictures that are read by their number when they are due: a file each, or records.

What is in memory is where each picture lies, never the pictures; TensorFlow reads and decodes in
its own threads, so that Python's lock is not in the way.
"""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Protocol

import numpy as np
import tensorflow as tf

from ..arrays import Array
from ..errors import TrainingError
from .dataset import Part
from .numbered import NumberedCourse
from .tensorflow import decode

CHANNELS = 3  # grey pictures are brought to three equal ones
USUAL_SIDE = 224  # where pictures have different sizes; what ResNet50 was made for
LOOKED_AT = 64  # pictures whose size decides


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
        """The file's path."""
        return self.paths[number]

    def content(self, number: Any) -> Any:
        """The file's bytes."""
        with tf.device("CPU:0"), tf.init_scope():
            paths = tf.constant(list(self.paths))
        return tf.io.read_file(tf.gather(paths, number))

    def fingerprint(self) -> int:
        """Of the names and their classes."""
        names = zlib.crc32("\0".join(self.names).encode("utf-8", "surrogateescape"))
        return zlib.crc32(np.ascontiguousarray(self.labels, dtype="<i8").tobytes(), names)


class EncodedPictures:
    """A data set of encoded pictures; see ``dataset.DataSet``.

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
        training: Stored,
        test: Stored,
        size: tuple[int, int] | None,
        scaled: bool = False,
    ):
        self.name, self.origin, self.class_names = name, origin, class_names
        self.classes = len(class_names)
        self._training, self._test, self._scaled = training, test, scaled
        found = stored_size(training)
        self._size = size or found or (USUAL_SIDE, USUAL_SIDE)

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

    def course(self, part: Part, start: Mapping[str, Any] | None) -> NumberedCourse:
        """One rank's way through the training pictures."""
        return NumberedCourse(
            self.training_count,
            self._fetch(self._training),
            part,
            start,
            one_by_one=True,
        )

    def test_batches(self, rank: int, world_size: int, batch_size: int) -> Any:
        """This rank's batches of test pictures; over all ranks each picture once."""
        numbers = tf.data.Dataset.range(rank, self.test_count, world_size)
        one = self._fetch(self._test)
        batches = numbers.map(one, num_parallel_calls=tf.data.AUTOTUNE).batch(batch_size)
        return batches.prefetch(2)

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """An error of TensorFlow's becomes a line about the first picture that is none."""
        try:
            yield
        except tf.errors.OpError:
            for stored in (self._training, self._test):
                for number in range(len(stored.labels)):
                    problem = _wrong_with(stored, number)
                    if problem:
                        raise TrainingError(problem) from None
            raise

    def _fetch(self, stored: Stored) -> Any:
        labels = tf.constant(stored.labels, tf.int64)

        def one(number: Any) -> tuple[Any, Any]:
            content = stored.content(number)
            pixels = decode(content, self.shape[:2], CHANNELS, scaled_decoding=self._scaled)
            return pixels, tf.gather(labels, number)

        return one


def stored_size(stored: Stored) -> tuple[int, int] | None:
    """(width, height) of the pictures where all that are looked at have one, else None.

    Raises:
        TrainingError: One of them is no picture.
    """
    count = len(stored.labels)
    chosen = np.unique(np.linspace(0, count - 1, min(count, LOOKED_AT)).astype(np.int64))
    sizes = set()
    for number in chosen.tolist():
        problem = _wrong_with(stored, number)
        if problem:
            raise TrainingError(problem)
        pixels = tf.io.decode_image(stored.content(number), expand_animations=False)
        sizes.add((int(pixels.shape[1]), int(pixels.shape[0])))
    return sizes.pop() if len(sizes) == 1 else None


def _wrong_with(stored: Stored, number: int) -> str | None:
    """Why a picture cannot be decoded, as a line; None where it can."""
    try:
        tf.io.decode_image(stored.content(number), channels=CHANNELS, expand_animations=False)
    except tf.errors.OpError as error:
        why = str(error.message or error).split("\n")[0].split(" [Op:")[0]
        return (
            f"{stored.name_of(number)}: no picture that can be decoded ({why}). Mend or remove it; "
            "`launch data parquet` leaves such pictures out and lists them."
        )
    return None
