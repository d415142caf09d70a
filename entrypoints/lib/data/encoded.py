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
from .tensorflow_decoding import decode, in_words, remedy, seen_size, why_not_decoded


class EncodedPictures(StoredPictures):
    """A data set of encoded pictures; see ``dataset.DataSet``."""

    def stored_size(self, stored: Any) -> tuple[int, int] | None:
        """As there; notes whether a picture is seen otherwise than it is stored."""
        sizes, self._as_seen = set(), False
        for number in looked_at(stored):
            content = _decodable(stored, number)
            sizes.add(seen_size(content))
            self._as_seen |= headers.differs_as_stored(content)
        return sizes.pop() if len(sizes) == 1 else None

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
                    _decodable(stored, number)
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


def _decodable(stored: Stored, number: int) -> bytes:
    """The bytes of a picture.

    Raises:
        TrainingError: It cannot be read or decoded.
    """
    name = stored.name_of(number)
    try:
        content = stored.content(number).numpy()
    except tf.errors.OpError as error:
        raise TrainingError(f"{name}: cannot be read ({in_words(error)}). {MEND}") from None
    except UnicodeDecodeError:  # TensorFlow's own error has the name, which is no UTF-8
        raise TrainingError(f"{name}: cannot be read. {MEND}") from None
    why = why_not_decoded(content, CHANNELS)
    if why:
        raise TrainingError(
            f"{name}: no picture that can be decoded ({why}). {remedy(content, MEND)}"
        ) from None
    return bytes(content)
