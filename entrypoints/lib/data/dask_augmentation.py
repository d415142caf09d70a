"""Training batches that Dask's workers make while the ranks train: ``--data augment:PLACE``.

Each rank reads its share of the rows in the order of ``PictureReader``, and its place in the data
is that reader's, so that a run goes on at the very sample. What the reader would read and decode
here, workers do, on this machine or on others: read row groups, decode, resize and augment. A
picture's augmentation is drawn by (seed, epoch, row), so it is the same whoever computes it.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Generator, Iterator, Sequence

import numpy as np

from .. import places
from ..arrays import Array
from ..errors import TrainingError
from . import dask_tasks, parquet_place
from .dask_ahead import SILENT_SECONDS, Ahead
from .dask_connection import WORKERS_SECONDS, Connection
from .parquet_place import Pictures
from .reader import Batch, PictureReader

LOOKED_AT = 3  # files of a place that every worker must be able to read
TASKS, MAKE, LOOK = "data.dask_tasks", "augmented", "look"


@dataclass(frozen=True)
class Augmentation:
    """What the workers make of every picture.

    Attributes:
        size: (width, height) in pixels.
        channels: 1 for grey, 3 for RGB.
        augment: Of pictures.augmenting.KINDS; none of them is decoding and resizing alone.
        fit: Of pictures.resizing.FITS.
        seed: Of what is drawn.
    """

    size: tuple[int, int]
    channels: int = 3
    augment: tuple[str, ...] = ("crop", "flip")
    fit: str = "crop"
    seed: int = 0


@dataclass(frozen=True)
class AugmentedBatch:
    """A finished batch.

    Attributes:
        images: (n, height, width, channels) uint8.
        labels: (n,) int64.
        weights: (n,) float32: 0 for a picture that is repeated to fill a share.
        rows: (n,) int64, row numbers in the place.
        epoch: From 0.
    """

    images: Array
    labels: Array
    weights: Array
    rows: Array
    epoch: int


class AugmentedReader:
    """A rank's batches, made by Dask's workers.

    Attributes:
        reader: Whose rows they are; it says steps and positions.
        augmentation: What is made of every picture.
        most: The largest number of batches that were submitted and not taken, so far.
        waited: Seconds for which the caller had to wait for batches, so far.
        pillow: The release of Pillow that all workers have.
        failure: What ended the batches, or None.
    """

    def __init__(
        self,
        reader: PictureReader,
        scheduler: str,
        augmentation: Augmentation,
        *,
        read_ahead: int = 8,
        pillow: str | None = None,
        no_worker_seconds: float = WORKERS_SECONDS,
        silent_seconds: float = SILENT_SECONDS,
    ) -> None:
        """Connects and proves that the workers can do it; blocks for a minute or two at most.

        Args:
            reader: Of this rank; its threads aren't started.
            scheduler: Address of a Dask scheduler: tcp://HOST:PORT or tls://HOST:PORT.
            augmentation: What the workers make of each picture.
            read_ahead: Batches of this rank that may be submitted and not yet taken, which bounds
                what they hold in the workers' memory and here.
            pillow: Of another reader of these pictures that has been through this; None proves it.
            no_worker_seconds: How long there may be no worker, now and later.
            silent_seconds: How long a batch may take while there are workers.

        Raises:
            TrainingError: The scheduler or the workers can't; one line says why.
        """
        self.reader, self.augmentation = reader, augmentation
        self._ahead = read_ahead
        self._seconds = {"no_worker_seconds": no_worker_seconds, "silent_seconds": silent_seconds}
        self._scheduler = scheduler
        self.most, self.waited = 0, 0.0
        self.failure: Exception | None = None
        self._names = _below(reader.pictures)
        self.pillow = pillow or self._proven(no_worker_seconds)

    def batches(
        self, *, epochs: int | None = None, steps: int | None = None
    ) -> Generator[AugmentedBatch, None, None]:
        """The batches from the reader's start on, in order. Close the generator to end its tasks.

        Args:
            epochs: The epoch before which to end; endless for None.
            steps: Batches at most.

        Raises:
            TrainingError: Workers or scheduler are gone, or a picture can't be read.
        """
        wanted: deque[Batch] = deque()

        def calls() -> Iterator[tuple[Any, ...]]:
            for batch in self.reader.row_batches(epochs=epochs, steps=steps):
                wanted.append(batch)
                yield self._call(batch.epoch, batch.rows)

        results = Ahead(
            Connection(self._scheduler), (TASKS, MAKE), calls(), self._ahead, **self._seconds
        )
        with contextlib.closing(results):
            while True:
                began = time.monotonic()
                try:
                    images, labels = next(results)
                except StopIteration:
                    return
                except Exception as error:
                    self.failure = error
                    raise
                finally:
                    self.waited += time.monotonic() - began
                    self.most = max(self.most, results.most)
                batch = wanted.popleft()
                self._check(labels, batch.rows)
                yield AugmentedBatch(images, labels, batch.weights, batch.rows, batch.epoch)

    def _proven(self, no_worker_seconds: float) -> str:
        with contextlib.closing(Connection(self._scheduler)) as connection:
            connection.wait_for_workers(no_worker_seconds)
            address = self.reader.pictures.address
            return connection.check(TASKS, LOOK, address, self._some())

    def _call(self, epoch: int, rows: Array) -> tuple[Any, ...]:
        pictures, augmentation = self.reader.pictures, self.augmentation
        groups = pictures.groups
        of_rows = groups.of(rows)
        within = rows - groups.starts[of_rows]
        parts, order = dask_tasks.parts_of(
            [
                (self._names[pictures.file_of_group[group]], int(pictures.group_in_file[group]), at)
                for group, at in zip(of_rows.tolist(), within.tolist())
            ]
        )
        how = {
            "size": tuple(augmentation.size),
            "fit": augmentation.fit,
            "channels": augmentation.channels,
            "augment": tuple(augmentation.augment),
            "seed": augmentation.seed,
            "epoch": epoch,
            "pillow": self.pillow,
        }
        return pictures.address, parts, order, rows.tolist(), how

    def _check(self, labels: Array, rows: Array) -> None:
        classes = len(self.reader.pictures.classes)
        wrong = np.flatnonzero((labels < 0) | (labels >= classes))
        if len(wrong):
            where = self.reader.pictures.path_of(int(rows[wrong[0]]))
            raise TrainingError(
                f"{where}: label {int(labels[wrong[0]])}; expected 0 to {classes - 1}. "
                f"{parquet_place.MAKE_ANEW}"
            )

    def _some(self) -> Sequence[tuple[str, int]]:
        """Some files and their row groups, first and last among them."""
        pictures = self.reader.pictures
        chosen = np.unique(np.linspace(0, len(self._names) - 1, LOOKED_AT).astype(int))
        groups = np.bincount(pictures.file_of_group, minlength=len(self._names))
        return [(self._names[file], int(groups[file])) for file in chosen.tolist()]


def _below(pictures: Pictures) -> Sequence[str]:
    """The names of the files below the place's address, which others reach in their own way."""
    _, root = parquet_place.filesystem_of(places.on_this_machine(pictures.address))
    return [path[len(root) + 1 :] for path in pictures.files]
