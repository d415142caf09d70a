"""Augmented pictures of Dask's workers as NumPy arrays, for a framework without TensorFlow."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from .augmented_place import AugmentedPlace
from .decoded_place import DecodedPlace
from .place_pictures import end_of
from .reader import PictureReader


class AugmentedArrays(AugmentedPlace, DecodedPlace):
    """As ``AugmentedPlace``; it gives NumPy arrays alone."""

    def decoded_arrays(
        self, reader: PictureReader, steps: int | None, weighted: bool
    ) -> Iterator[tuple[Any, ...]]:
        """As for Parquet."""
        augmented = self.augmented(reader)
        if augmented is None:
            yield from super().decoded_arrays(reader, steps, weighted)
            return
        made = augmented.batches(epochs=end_of(reader, steps), steps=steps)
        with contextlib.closing(made) as batches:
            for one in batches:
                pair = (one.images, one.labels)
                yield (*pair, one.weights) if weighted else pair
