"""Encoded pictures that are read by their number when they are due: a file each, or records.

TensorFlow reads and decodes in its own threads, so that Python's lock is not in the way.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Mapping

import tensorflow as tf

from ..errors import TrainingError
from ..pictures import headers
from .dataset import Part
from .numbered import NumberedCourse
from .stored import CHANNELS, MEND, Stored, StoredPictures, looked_at
from .tensorflow import decode, in_words, remedy, seen_size, why_not_decoded


class EncodedPictures(StoredPictures):
    """A data set of encoded pictures; see ``dataset.DataSet``."""

    def stored_size(self, stored: Any) -> tuple[int, int] | None:
        """As there."""
        found = stored_size(stored)
        contents = (stored.content(number).numpy() for number in looked_at(stored))
        self._as_seen = any(map(headers.differs_as_stored, contents))
        return found

    def test_arrays(self, rank: int, world_size: int, batch_size: int) -> Iterator[tuple[Any, Any]]:
        """As ``test_batches``, in NumPy arrays."""
        for pixels, labels in self.test_batches(rank, world_size, batch_size):
            yield pixels.numpy(), labels.numpy()

    def course(self, part: Part, start: Mapping[str, Any] | None) -> NumberedCourse:
        """One rank's way through the training pictures."""
        return NumberedCourse(
            self.training_count,
            part,
            start,
            fetch=lambda: self._fetch(self._training),
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
        except (tf.errors.OpError, UnicodeDecodeError):
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
            pixels = decode(
                content,
                self.shape[:2],
                CHANNELS,
                scaled_decoding=self._scaled,
                as_seen=self._as_seen,
            )
            return pixels, tf.gather(labels, number)

        return one


def stored_size(stored: Stored) -> tuple[int, int] | None:
    """(width, height) of the pictures where all that are looked at have one, else None.

    Raises:
        TrainingError: One of them is no picture.
    """
    sizes = set()
    for number in looked_at(stored):
        problem = _wrong_with(stored, number)
        if problem:
            raise TrainingError(problem)
        sizes.add(seen_size(stored.content(number).numpy()))
    return sizes.pop() if len(sizes) == 1 else None


def _wrong_with(stored: Stored, number: int) -> str | None:
    """Why a picture cannot be decoded, as a line; None where it can."""
    name = stored.name_of(number)
    try:
        content = stored.content(number)
    except tf.errors.OpError as error:
        return f"{name}: cannot be read ({in_words(error)}). {MEND}"
    except UnicodeDecodeError:  # TensorFlow's own error has the name, which is no UTF-8
        return f"{name}: cannot be read. {MEND}"
    why = why_not_decoded(content, CHANNELS)
    return why and (
        f"{name}: no picture that can be decoded ({why}). {remedy(content.numpy(), MEND)}"
    )
