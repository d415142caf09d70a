"""A data set that is held in memory, with its test split."""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ContextManager, Iterable, Iterator, Mapping, Tuple

import numpy as np

from ..arrays import Array
from ..pictures import bilinear

if TYPE_CHECKING:
    from .dataset import Course, Part

Split = Tuple[Array, Array]  # images (n, rows, columns, channels) and labels (n,)


@dataclass(frozen=True)
class Images:
    """A data set in memory.

    Attributes:
        name: Its name on the command line.
        origin: Where it was found, for people.
        training_images: (n, rows, columns, channels) uint8, 0 to ``brightest``.
        training_labels: (n,) int64, 0 to ``classes`` - 1.
        test_images: As the training images; never trained on.
        test_labels: As the training labels.
        classes: Number of classes.
        brightest: The value of a white pixel.
        size: (width, height) that the model gets; None where it gets them as they are.
    """

    name: str
    origin: str
    training_images: Array
    training_labels: Array
    test_images: Array
    test_labels: Array
    classes: int
    brightest: int
    size: tuple[int, int] | None = None

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """(rows, columns, channels) of an image in memory."""
        return tuple(int(length) for length in self.training_images.shape[1:])

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns, channels) of an image as the model gets it."""
        if self.size is None:
            return self.stored_shape
        return (self.size[1], self.size[0], self.stored_shape[2])

    @property
    def training_count(self) -> int:
        """Samples of an epoch."""
        return len(self.training_labels)

    @property
    def test_count(self) -> int:
        """Samples to test on."""
        return len(self.test_labels)

    def fingerprint(self) -> tuple[int, ...]:
        """Numbers that differ between data sets which are not the same in every label."""
        return (
            len(self.training_labels),
            len(self.test_labels),
            zlib.crc32(np.ascontiguousarray(self.training_labels).tobytes()),
            zlib.crc32(np.ascontiguousarray(self.test_labels).tobytes()),
        )

    def course(self, part: Part, start: Mapping[str, Any] | None) -> Course:
        """One rank's way through the training images."""
        from .numbered import NumberedCourse

        return NumberedCourse(
            self.training_count,
            part,
            start,
            fetch=lambda: self._fetch(self.training_images, self.training_labels),
            arrays=lambda chosen: self._arrays(self.training_images, self.training_labels, chosen),
        )

    def test_batches(self, rank: int, world_size: int, batch_size: int) -> Any:
        """This rank's batches of test images; over all ranks each image once."""
        from . import batches

        fetch = self._fetch(self.test_images, self.test_labels)
        return batches.test_batches(self.test_count, fetch, rank, world_size, batch_size)

    def test_arrays(
        self, rank: int, world_size: int, batch_size: int
    ) -> Iterator[tuple[Array, Array]]:
        """The same as NumPy arrays."""
        from .numbered import test_numbers

        chosen = test_numbers(self.test_count, rank, world_size, batch_size)
        return self._arrays(self.test_images, self.test_labels, chosen)

    def _fetch(self, images: Array, labels: Array) -> Any:
        from . import batches

        return batches.fetch(images, labels, self.shape)

    def _arrays(
        self, images: Array, labels: Array, chosen: Iterable[Array]
    ) -> Iterator[tuple[Array, Array]]:
        for numbers in chosen:
            pixels = images[numbers]
            if self.shape != self.stored_shape:
                pixels = bilinear.resized(pixels, self.shape[:2])
            yield pixels.astype(np.float32, copy=False), labels[numbers]

    def explaining(self) -> ContextManager[None]:
        """What is in memory can be read."""
        return contextlib.nullcontext()

    def first(self, limit: int | None) -> Images:
        """The same with the first ``limit`` training images alone; all of them for None."""
        if limit is None or limit >= len(self.training_labels):
            return self
        return replace(
            self,
            training_images=self.training_images[:limit],
            training_labels=self.training_labels[:limit],
        )

    def resized(self, size: tuple[int, int] | None) -> Images:
        """The same for a model that gets (width, height) pixels; as they are for None."""
        return replace(self, size=size)
