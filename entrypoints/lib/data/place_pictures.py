"""Training on a place of Parquet as a stream, in step over all ranks: what needs no framework.

Who decodes is a subclass's matter: TensorFlow in ``streamed``, Pillow in ``decoded_place``.
"""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import replace
from typing import Any, ContextManager, Generator, Iterator, Mapping

import numpy as np

from ..arguments import Settings
from ..errors import TrainingError
from ..pictures import headers
from . import position as positions
from . import weights
from .dataset import Part
from .division import DROP, UNEVEN, Division
from .parquet_place import open_place
from .position import Epoch, Position
from .reader import Batch, PictureReader
from .stored import CHANNELS, LOOKED_AT, USUAL_SIDE
from .tested_split import to_test_on

LEAVES_OUT = "Convert it with `launch data parquet`, which leaves such pictures out and lists them."


class PlacePictures:
    """A data set that is a place of Parquet; see ``dataset.DataSet``.

    Args:
        address: The place.
        test_address: Where the pictures to test on are, if not there.
        settings: Size, decoding, how much is read ahead and shuffled together.

    Raises:
        TrainingError: There is no such place, or none to test on, or it cannot be read.
    """

    name = "parquet"
    brightest = 255
    ignores_exif = False  # whether its decoder has to be told to show pictures as they are seen

    def __init__(self, address: str, test_address: str | None, settings: Settings):
        self.origin = address
        self._training = open_place(address)
        self._test = to_test_on(self._training, test_address)
        self._scaled = settings.decode == "scaled"
        self._ahead_bytes = settings.read_ahead << 20
        self._block_groups = settings.shuffle_groups
        self.classes = max(len(self._training.classes), len(self._test.classes))
        self._readers: list[PictureReader] = []
        self._as_seen, found = False, settings.image_size
        if found is None or self.ignores_exif:
            looked_at = self._looked_at()
            self._as_seen = any(map(headers.differs_as_stored, looked_at.content))
            found = found or self._stored_size(looked_at)
        self._size = found or (USUAL_SIDE, USUAL_SIDE)

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns, channels) of a picture as the model gets it."""
        return (self._size[1], self._size[0], CHANNELS)

    @property
    def training_count(self) -> int:
        """Samples of an epoch."""
        return self._training.rows

    @property
    def test_count(self) -> int:
        """Samples to test on."""
        return self._test.rows

    def fingerprint(self) -> tuple[int, ...]:
        """Counts, row groups and classes, and the size that was chosen."""
        names = zlib.crc32("\0".join(self._training.classes).encode("utf-8"))
        groups = (self._training.fingerprint(), self._test.fingerprint())
        return (self.training_count, self.test_count, names, *groups, *self._size)

    def course(self, part: Part, start: Mapping[str, Any] | None) -> PlaceCourse:
        """One rank's way through the training pictures."""
        return PlaceCourse(self, part, start)

    def training_reader(self, part: Part, start: Position | None) -> InStepReader:
        """What reads a rank's part of the training pictures from ``start``."""
        division = part.division(block_groups=self._block_groups)
        reader = InStepReader(
            self._training,
            division,
            rank=part.rank,
            seed=part.seed,
            start=start,
            ahead_bytes=self._ahead_bytes,
        )
        self._readers.append(reader)
        return reader

    def decoded(self, reader: PictureReader, steps: int | None, weighted: bool) -> Any:
        """What iterates over the reader's batches, decoded, in the framework's own tensors; one
        epoch where ``steps`` is None."""
        raise NotImplementedError

    def decoded_arrays(
        self, reader: PictureReader, steps: int | None, weighted: bool
    ) -> Iterator[tuple[Any, ...]]:
        """The same as NumPy arrays."""
        for batch in self.decoded(reader, steps, weighted):
            yield tuple(each.numpy() for each in batch)

    def size_of(self, content: bytes) -> tuple[int, int]:
        """(width, height) of an encoded picture.

        Raises:
            TrainingError: It is none; the message says why.
        """
        raise NotImplementedError

    def remedy(self, content: bytes) -> str:
        """What to do about a picture of which ``size_of`` says that it is none."""
        return LEAVES_OUT

    def test_batches(self, rank: int, world_size: int, batch_size: int) -> Any:
        """This rank's batches of test pictures; over all ranks each picture once."""
        return self.decoded(*self._test_reader(rank, world_size, batch_size), weighted=False)

    def test_arrays(self, rank: int, world_size: int, batch_size: int) -> Iterator[tuple[Any, ...]]:
        """The same as NumPy arrays."""
        reader, steps = self._test_reader(rank, world_size, batch_size)
        return self.decoded_arrays(reader, steps, weighted=False)

    def explaining(self) -> ContextManager[None]:
        """What cannot be decoded is named where it is met."""
        return contextlib.nullcontext()

    def _test_reader(
        self, rank: int, world_size: int, batch_size: int
    ) -> tuple[PictureReader, int | None]:
        """(reader, steps) of the test pictures of a rank; no step where there are more ranks."""
        division = Division(
            ranks=min(world_size, self.test_count),
            batch_size=batch_size,
            remainder=UNEVEN,
            block_groups=1,
            shuffle=False,
        )
        reader = PictureReader(
            self._test,
            division,
            rank=min(rank, division.ranks - 1),
            ahead_bytes=self._ahead_bytes,
        )
        self._readers.append(reader)
        return reader, 0 if rank >= division.ranks else None

    def _looked_at(self) -> Batch:
        """Some of the training pictures."""
        division = Division(batch_size=min(LOOKED_AT, self._training.rows), block_groups=1)
        reader = PictureReader(self._training, division, ahead_bytes=self._ahead_bytes)
        with contextlib.closing(reader.batches(steps=1)) as batches:
            return next(batches)

    def _stored_size(self, batch: Batch) -> tuple[int, int] | None:
        sizes = set()
        for content, row in zip(batch.content, batch.rows):
            try:
                sizes.add(self.size_of(content))
            except TrainingError as error:
                raise TrainingError(
                    f"{self._training.path_of(int(row))}: no picture that can be decoded "
                    f"({error}). {self.remedy(content)}"
                ) from error
        return sizes.pop() if len(sizes) == 1 else None


class PlaceCourse:
    """One rank's way through a place; see ``dataset.Course``.

    Where ``max_steps`` cuts the epochs of training, the next one goes on where this one stopped
    reading, so that pictures beyond the cut have their turn.
    """

    def __init__(self, data: PlacePictures, part: Part, start: Mapping[str, Any] | None):
        self._data, self._part = data, part
        begin = None if start is None else positions.from_json(start["position"])
        self._reader = data.training_reader(part, begin)
        whole = weights.steps_of_all(self._reader.division, data.training_count)
        self.steps = whole if part.max_steps is None else min(whole, part.max_steps)
        if self.steps < whole:
            self.first_steps = max(0, self.steps - (int(start["step"]) if start else 0))
        else:
            self.first_steps = self._reader.steps_of_all(self._reader.start)

    def batches(self, epochs: int, first: int = 0) -> Any:
        """A tf.data.Dataset of the batches of ``epochs`` epochs; see ``dataset.Course``."""
        return self._data.decoded(*self._part_of(epochs, first))

    def arrays(self, epochs: int, first: int = 0) -> Iterator[tuple[Any, ...]]:
        """The same as NumPy arrays; see ``dataset.Course``."""
        return self._data.decoded_arrays(*self._part_of(epochs, first))

    def state(self, epochs: int, steps: int) -> Mapping[str, Any]:
        """Where training stands so many epochs and steps after the start, for a checkpoint."""
        position = self._reader.position(self._steps(epochs) + steps)
        before = 0 if epochs else self.steps - self.first_steps
        return {"position": position.as_json(), "step": before + steps}

    def _steps(self, epochs: int) -> int:
        return self.first_steps + (epochs - 1) * self.steps if epochs else 0

    def _part_of(self, epochs: int, first: int) -> tuple[InStepReader, int, bool]:
        """(reader, steps, whether there are weights) of these epochs."""
        reader, steps = self._reader, self._steps(first + epochs) - self._steps(first)
        if first:
            begin = self._reader.position(self._steps(first))
            reader = self._data.training_reader(self._part, begin)
        return reader, steps, self._part.remainder != DROP


class InStepReader(PictureReader):
    """A reader whose batches are as many on every rank, with the weights that this needs."""

    @property
    def has_short_batches(self) -> bool:
        """Also where another rank has a step more."""
        return self.division.remainder != DROP or super().has_short_batches

    def steps_of_all(self, position: Position) -> int:
        """Steps from ``position`` to the end of its epoch, of the rank with the most."""
        return Epoch(self.groups, position, self.division).steps(0)

    def batches(
        self,
        worker: int = 0,
        *,
        epochs: int | None = None,
        steps: int | None = None,
        at_once: int = 1,
    ) -> Generator[Batch, None, None]:
        """As the reader's; at an epoch's end one of weight 0 where other ranks have one more."""
        own = super().batches(worker, epochs=epochs, at_once=at_once)
        with contextlib.closing(own) as batches:
            yield from self.first_steps(self._in_step(batches), steps)

    def row_batches(
        self, worker: int = 0, *, epochs: int | None = None, steps: int | None = None
    ) -> Iterator[Batch]:
        """The same without reading anything."""
        return self.first_steps(self._in_step(super().row_batches(worker, epochs=epochs)), steps)

    def _in_step(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        if self.division.remainder == DROP:
            yield from batches
            return
        position, last, size = self.start, None, self.division.batch_size
        epoch = Epoch(self.groups, position, self.division)
        step, end = epoch.steps_before, epoch.steps_before + epoch.steps(0)
        for batch in batches:
            while batch.epoch > position.epoch:
                for _ in range(step, end):
                    yield _silent(last or batch)
                position = replace(position, epoch=position.epoch + 1, stages=())
                epoch = Epoch(self.groups, position, self.division)
                step, end = 0, epoch.steps(0)
            steps = batch.steps(size)
            counts = [
                weights.factor(self.division, len(epoch.left), self.rank, step + number)
                for number in range(steps)
            ]
            of_rows = np.repeat(counts, size)[: len(batch.labels)]
            yield replace(batch, weights=(batch.weights * of_rows).astype(np.float32))
            step, last = step + steps, batch


def end_of(reader: PictureReader, steps: int | None) -> int | None:
    """The epoch before which a reader's batches end: its own next one, where ``steps`` is None."""
    return None if steps is not None else reader.start.epoch + 1


def _silent(batch: Batch) -> Batch:
    """A batch of one picture that counts nothing."""
    content = None if batch.content is None else batch.content[:1]  # type: ignore[redundant-expr]
    return Batch(content, batch.labels[:1], np.zeros(1, np.float32), batch.rows[:1], batch.epoch)
