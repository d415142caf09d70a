"""Pictures that are a file each, for a framework that has no decoder of its own: Pillow's threads.

Which pictures a batch has is the same as with TensorFlow; their pixels differ a little, since
Pillow filters where it makes a picture smaller.
"""

from __future__ import annotations

import contextlib
from typing import Any, ContextManager, Iterable, Iterator, Mapping

import numpy as np

from ..arrays import Array
from ..errors import TrainingError
from ..pictures import decoding
from ..pictures.headers import BadPictureError
from .dataset import Part
from .decoding_ahead import PictureForm, decoded_batches
from .numbered import NumberedCourse, test_numbers
from .reader import Batch
from .stored import CHANNELS, MEND, FilePictures, StoredPictures, looked_at
from .world import decoding_threads


class DecodedPictures(StoredPictures):
    """A data set of picture files; see ``dataset.DataSet``. It gives NumPy arrays alone."""

    def stored_size(self, stored: Any) -> tuple[int, int] | None:
        """As there; what is looked at is each picture's header and its end."""
        sizes = set()
        for number in looked_at(stored):
            try:
                header = decoding.looked_at(stored.read(number))
            except (BadPictureError, OSError) as error:
                raise TrainingError(
                    f"{stored.name_of(number)}: no picture that can be decoded ({error}). {MEND}"
                ) from error
            sizes.add(decoding.upright_size(header))
        return sizes.pop() if len(sizes) == 1 else None

    def course(self, part: Part, start: Mapping[str, Any] | None) -> NumberedCourse:
        """One rank's way through the training pictures."""
        return NumberedCourse(
            self.training_count,
            part,
            start,
            arrays=lambda chosen: self._arrays(self._training, chosen),
        )

    def test_arrays(
        self, rank: int, world_size: int, batch_size: int
    ) -> Iterator[tuple[Array, Array]]:
        """This rank's batches of test pictures; over all ranks each picture once."""
        chosen = test_numbers(self.test_count, rank, world_size, batch_size)
        return self._arrays(self._test, chosen)

    def test_batches(self, rank: int, world_size: int, batch_size: int) -> Any:
        """There are none of TensorFlow's."""
        raise NotImplementedError

    def explaining(self) -> ContextManager[None]:
        """What cannot be decoded is named where it is met."""
        return contextlib.nullcontext()

    def _arrays(
        self, stored: FilePictures, chosen: Iterable[Array]
    ) -> Iterator[tuple[Array, Array]]:
        form = PictureForm(
            size=(self._size[1], self._size[0]),
            channels=CHANNELS,
            dtype="uint8",
            scaled_decoding=self._scaled,
        )
        raw = (
            Batch(numbers, stored.labels[numbers], np.ones(len(numbers), np.float32), numbers, 0)
            for numbers in chosen
        )
        decoded = decoded_batches(
            raw,
            form,
            _Files(stored),
            seed=0,
            threads=decoding_threads(),
            read=lambda number: stored.read(int(number)),
            mend=MEND,
        )
        with contextlib.closing(decoded):
            for batch, pixels in decoded:
                yield pixels.transpose(0, 2, 3, 1), batch.labels


class _Files:
    def __init__(self, stored: FilePictures):
        self._stored = stored

    def path_of(self, row: int) -> str:
        """The file's path."""
        return self._stored.name_of(row)
