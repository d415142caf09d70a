"""Augmented pictures of Dask's workers in TensorFlow."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from .augmented_place import AugmentedPlace
from .dask_tensorflow import augmented_batches, naming_lost_workers
from .place_pictures import end_of
from .reader import PictureReader
from .streamed import StreamedPictures


class AugmentedPictures(AugmentedPlace, StreamedPictures):
    """As ``AugmentedPlace``, in TensorFlow."""

    def decoded(self, reader: PictureReader, steps: int | None, weighted: bool) -> Any:
        """As for Parquet."""
        augmented = self.augmented(reader)
        if augmented is None:
            return super().decoded(reader, steps, weighted)
        end = end_of(reader, steps)
        return augmented_batches(augmented, epochs=end, steps=steps, weights=weighted)

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """As for Parquet; workers that are lost are a line of their own, too."""
        with contextlib.ExitStack() as all_readers:
            all_readers.enter_context(super().explaining())
            for augmented in self._augmented.values():
                all_readers.enter_context(naming_lost_workers(augmented))
            yield
