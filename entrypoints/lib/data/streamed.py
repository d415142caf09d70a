"""Training on a place of Parquet as a stream of tensors, which TensorFlow decodes."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from ..errors import TrainingError
from .place_pictures import PlacePictures, end_of
from .reader import PictureReader
from .stored import CHANNELS
from .tensorflow import naming_bad_pictures, picture_batches
from .tensorflow_decoding import remedy, seen_size, why_not_decoded


class StreamedPictures(PlacePictures):
    """As ``PlacePictures``, in TensorFlow."""

    ignores_exif = True

    def decoded(self, reader: PictureReader, steps: int | None, weighted: bool) -> Any:
        """A tf.data.Dataset of the reader's batches; one epoch where ``steps`` is None."""
        return picture_batches(
            reader,
            size=(self._size[1], self._size[0]),
            channels=CHANNELS,
            epochs=end_of(reader, steps),
            steps=steps,
            weights=weighted,
            scaled_decoding=self._scaled,
            as_seen=self._as_seen,
        )

    def size_of(self, content: bytes) -> tuple[int, int]:
        """As TensorFlow decodes it."""
        why = why_not_decoded(content)
        if why is not None:
            raise TrainingError(why)
        return seen_size(content)

    def remedy(self, content: bytes) -> str:
        """Another one where TensorFlow alone cannot decode it."""
        return remedy(content, super().remedy(content))

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """An error of TensorFlow's becomes a line about the picture or the file."""
        with contextlib.ExitStack() as all_readers:
            for reader in self._readers:
                all_readers.enter_context(naming_bad_pictures(reader))
            yield
