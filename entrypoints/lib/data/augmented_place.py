"""Training on a place of Parquet whose pictures Dask's workers decode and augment: what needs no
framework. In which tensors they come is a subclass's matter, as in ``place_pictures``."""

from __future__ import annotations

from ..arguments import Settings
from .dask_augmentation import Augmentation, AugmentedReader
from .dataset import Part
from .place_pictures import InStepReader, PlacePictures
from .position import Position
from .reader import PictureReader
from .stored import CHANNELS

BATCHES_AHEAD = 8


class AugmentedPlace(PlacePictures):
    """As the other base class; workers make the training batches, test pictures are read here.

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

    def augmented(self, reader: PictureReader) -> AugmentedReader | None:
        """What workers make of that reader's rows; None where it reads what is tested on."""
        return self._augmented.get(id(reader))
