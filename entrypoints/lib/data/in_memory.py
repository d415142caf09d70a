"""A data set that is held in memory, with its test split."""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ContextManager, Mapping, Tuple

import numpy as np

from ..arrays import Array

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
        from . import batches
        from .numbered import NumberedCourse

        fetch = batches.fetch(self.training_images, self.training_labels, self.shape)
        return NumberedCourse(self.training_count, fetch, part, start)

    def test_batches(self, rank: int, world_size: int, batch_size: int) -> Any:
        """This rank's batches of test images; over all ranks each image once."""
        from . import batches

        fetch = batches.fetch(self.test_images, self.test_labels, self.shape)
        return batches.test_batches(self.test_count, fetch, rank, world_size, batch_size)

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
