"""Training on a place of Parquet whose pictures Dask's workers decode and augment."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from ..arguments import Settings
from .dask_augmentation import Augmentation, AugmentedReader
from .dask_tensorflow import augmented_batches, naming_lost_workers
from .dataset import Part
from .place_pictures import InStepReader
from .position import Position
from .reader import PictureReader
from .stored import CHANNELS
from .streamed import StreamedPictures

BATCHES_AHEAD = 8


class AugmentedPictures(StreamedPictures):
    """As ``StreamedPictures``; workers make the training batches, test pictures are read here.

    Args:
        address: The place; the workers must reach it by that address, too.
        test_address: Where the pictures to test on are, if not there.
        settings: ``scheduler`` is set, and the rest as for Parquet.

    Raises:
        TrainingError: As there.
    """

    name = "augment"

    def __init__(self, address: str, test_address: str | None, settings: Settings):
        super().__init__(address, test_address, settings)
        self._scheduler = str(settings.scheduler)
        self._augmentation = Augmentation(
            size=self._size,
            channels=CHANNELS,
            augment=settings.augment,
            fit="stretch",
            seed=settings.seed,
        )
        self._pillow: str | None = None
        self._augmented: dict[int, AugmentedReader] = {}

    def training_reader(self, part: Part, start: Position | None) -> InStepReader:
        """As for Parquet; the workers are proven to be able before the first one.

        Raises:
            TrainingError: They aren't, or there are none.
        """
        reader = super().training_reader(part, start)
        augmented = AugmentedReader(
            reader,
            self._scheduler,
            self._augmentation,
            read_ahead=BATCHES_AHEAD,
            pillow=self._pillow,
        )
        self._pillow = augmented.pillow
        self._augmented[id(reader)] = augmented
        return reader

    def decoded(self, reader: PictureReader, steps: int | None, weighted: bool) -> Any:
        """As for Parquet."""
        augmented = self._augmented.get(id(reader))
        if augmented is None:
            return super().decoded(reader, steps, weighted)
        return augmented_batches(
            augmented,
            epochs=None if steps is not None else reader.start.epoch + 1,
            steps=steps,
            weights=weighted,
        )

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """As for Parquet; workers that are lost are a line of their own, too."""
        with contextlib.ExitStack() as all_readers:
            all_readers.enter_context(super().explaining())
            for augmented in self._augmented.values():
                all_readers.enter_context(naming_lost_workers(augmented))
            yield
