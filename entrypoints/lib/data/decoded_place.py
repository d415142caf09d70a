"""Training on a place of Parquet as a stream of NumPy arrays, which Pillow's threads decode."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from ..errors import TrainingError
from ..pictures import decoding
from ..pictures.headers import BadPictureError
from .decoding_ahead import PictureForm, decoded_batches
from .place_pictures import PlacePictures, end_of
from .reader import PictureReader
from .stored import CHANNELS
from .world import decoding_threads


class DecodedPlace(PlacePictures):
    """As ``PlacePictures``; it gives NumPy arrays alone."""

    def decoded_arrays(
        self, reader: PictureReader, steps: int | None, weighted: bool
    ) -> Iterator[tuple[Any, ...]]:
        """The reader's batches: uint8 pixels, labels[, weights]."""
        form = PictureForm(
            size=(self._size[1], self._size[0]),
            channels=CHANNELS,
            dtype="uint8",
            scaled_decoding=self._scaled,
        )
        raw = reader.batches(epochs=end_of(reader, steps), steps=steps)
        decoded = decoded_batches(raw, form, reader.pictures, seed=0, threads=decoding_threads())
        with contextlib.closing(raw), contextlib.closing(decoded):
            for batch, pixels in decoded:
                images = pixels.transpose(0, 2, 3, 1)
                yield (images, batch.labels, batch.weights) if weighted else (images, batch.labels)

    def size_of(self, content: bytes) -> tuple[int, int]:
        """As the header says it."""
        try:
            return decoding.upright_size(decoding.looked_at(content))
        except BadPictureError as error:
            raise TrainingError(str(error)) from error
