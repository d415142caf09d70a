"""Reads a share's batches of encoded pictures: threads that read ahead, within bounded memory."""

from __future__ import annotations

import contextlib
from collections import deque
from copy import copy
from dataclasses import dataclass, replace
from typing import Generator, Iterator

import numpy as np

from ..arrays import Array
from ..errors import TrainingError
from .blocks import Block, LoadedBlock, read_ahead, share_blocks, unread
from .division import Division
from .parquet_place import Pictures
from .position import Epoch, Position, advanced

REMEMBERED_PICTURES = 1 << 14  # in which a corrupt one is looked for, roughly,
REMEMBERED_PARTS = 8  # and at least so many at once: TensorFlow reads on until it is noticed


@dataclass(frozen=True)
class Batch:
    """Some encoded pictures.

    Attributes:
        content: (n,) of objects: bytes, an encoded picture each.
        labels: (n,) int64.
        weights: (n,) float32: 1, or 0 for a picture that is repeated to fill a share ("pad").
        rows: (n,) int64, row numbers in the place, for ``Pictures.path_of``.
        epoch: From 0.
    """

    content: Array
    labels: Array
    weights: Array
    rows: Array
    epoch: int

    def steps(self, batch_size: int) -> int:
        """How many batches of that size come in it."""
        return -(-len(self.labels) // batch_size)

    def first(self, count: int) -> Batch:
        """The first ``count`` of them."""
        return Batch(
            self.content[:count],
            self.labels[:count],
            self.weights[:count],
            self.rows[:count],
            self.epoch,
        )


class PictureReader:
    """The pictures of a place for one rank: how many steps, which batches, where it is.

    Every rank makes one with the same arguments but ``rank``. It can be pickled and sent to a
    worker process.
    """

    def __init__(
        self,
        pictures: Pictures,
        division: Division,
        *,
        rank: int = 0,
        seed: int = 0,
        start: Position | None = None,
        ahead_bytes: int = 256 << 20,
        threads: int = 2,
    ) -> None:
        """Checks what can be checked before training.

        Args:
            pictures: From ``open_place``.
            division: World, workers, batch size, remainder, shuffling; where its ``block_groups``
                would not fit into ``ahead_bytes`` it is made smaller.
            rank: Of ``division.ranks``.
            seed: Of every order; the checkpoint's where ``start`` is given.
            start: Where to begin; the first epoch's begin for None.
            ahead_bytes: Of pictures that a worker holds at most, roughly: the block that is being
                delivered and the next one.
            threads: That read row groups.

        Raises:
            TrainingError: Fewer pictures than shares, row groups larger than ``ahead_bytes``, or
                a position in other data.
        """
        if pictures.rows < division.shares:
            raise TrainingError(
                f"{pictures.address}: {pictures.rows} pictures for {division.ranks} ranks x "
                f"{division.workers} workers; expected at least one each. Use fewer ranks."
            )
        self.pictures = pictures
        self.division = replace(division, block_groups=_fitting(pictures, division, ahead_bytes))
        self.rank = rank
        self.threads = threads
        self.groups = pictures.groups
        self.start = self._checked(start, seed)
        self.recent: deque[Array] = deque()
        self.failure: str | None = None  # what ended the reading, for who sees another's error
        if not self.steps_in_epoch(self.start.epoch + 1):
            raise TrainingError(
                f"{pictures.address}: {pictures.rows} pictures on {division.shares} shares fill no "
                f"batch of {division.batch_size}. Use a smaller batch or fewer ranks."
            )

    @property
    def has_short_batches(self) -> bool:
        """Whether one of the batches may have less than ``division.batch_size`` rows."""
        size = self.division.batch_size
        left = len(Epoch(self.groups, self.start, self.division).left)
        return self.division.short_batches and any(
            self.division.share_rows(rows, share)[1] % size
            for rows in (left, self.pictures.rows)
            for share in self._shares()
        )

    @property
    def steps_per_epoch(self) -> int:
        """Batches of this rank in a whole epoch; with "uneven" a later rank may have fewer."""
        return self.division.rank_steps(self.pictures.rows, self.rank)

    def steps_in_epoch(self, epoch: int) -> int:
        """Batches of this rank in that epoch: fewer in the one in which ``start`` lies."""
        if epoch != self.start.epoch:
            return self.steps_per_epoch
        return Epoch(self.groups, self.start, self.division).steps(self.rank)

    def position(self, steps: int) -> Position:
        """Where the run is after ``steps`` steps from ``start``: for a checkpoint, on any rank."""
        return advanced(self.groups, self.start, self.division, steps)

    def batches(
        self,
        worker: int = 0,
        *,
        epochs: int | None = None,
        steps: int | None = None,
        at_once: int = 1,
    ) -> Generator[Batch, None, None]:
        """The batches of one worker from ``start`` on, in order.

        Blocks while pictures are read. Close the generator to end its threads.

        Args:
            worker: Of ``division.workers``. Batch j of the rank, counted from ``start``, is the
                next one of its worker j % workers (those at their end are passed over).
            epochs: The epoch before which to end (as range(start, epochs)); endless for None.
            steps: Batches of this worker at most.
            at_once: How many of them come in one, of an epoch each; only its last may be short.

        Raises:
            TrainingError: A file cannot be read or has changed, or a label is out of range.
        """
        blocks = self._blocks(worker, epochs)
        remembered = REMEMBERED_PICTURES // (self.division.batch_size * at_once)
        self.recent = deque(maxlen=max(REMEMBERED_PARTS, remembered))
        with contextlib.closing(read_ahead(self.pictures, blocks, self.threads)) as loaded:
            for batch in self.first_steps(self._cut(loaded, at_once), steps):
                self.recent.append(batch.rows)
                yield batch

    def first_steps(self, batches: Iterator[Batch], steps: int | None) -> Iterator[Batch]:
        """As many of these, each of one step or of several, as make ``steps``; all for None."""
        size, left = self.division.batch_size, steps
        while left is None or left > 0:
            batch = next(batches, None)
            if batch is None:
                return
            if left is not None:
                if len(batch.labels) > left * size:
                    batch = batch.first(left * size)
                left -= batch.steps(size)
            yield batch

    def row_batches(
        self, worker: int = 0, *, epochs: int | None = None, steps: int | None = None
    ) -> Iterator[Batch]:
        """The same as ``batches`` without reading anything: content is None and labels are 0."""
        return self.first_steps(self._cut(map(unread, self._blocks(worker, epochs))), steps)

    def at(self, position: Position) -> PictureReader:
        """The same from another position on, of ``self.position`` or a checkpoint."""
        other = copy(self)
        other.start = self._checked(position, position.seed)
        other.recent = deque()
        return other

    def _shares(self) -> range:
        return range(self.rank * self.division.workers, (self.rank + 1) * self.division.workers)

    def _blocks(self, worker: int, epochs: int | None) -> Iterator[Block]:
        """What the worker is to read, block after block, epoch after epoch.

        Workers are counted from ``start`` on, where it may be another one's turn.
        """
        turned = Epoch(self.groups, self.start, self.division).steps_before
        share = self._shares()[(worker + turned) % self.division.workers]
        position = self.start
        while epochs is None or position.epoch < epochs:
            epoch = Epoch(self.groups, position, self.division)
            yield from share_blocks(epoch, share)
            position = replace(position, epoch=position.epoch + 1, stages=())

    def _cut(self, blocks: Iterator[LoadedBlock], at_once: int = 1) -> Iterator[Batch]:
        """Batches of these blocks, ``at_once`` of them in one; one goes over the border of blocks,
        never of epochs."""
        size = self.division.batch_size * at_once
        parts: list[LoadedBlock] = []
        waiting = 0
        for block in blocks:
            begin = 0
            while begin < len(block):
                end = min(len(block), begin + size - waiting)
                parts.append(block.part(begin, end))
                waiting, begin = waiting + end - begin, end
                if waiting == size or (block.ends_epoch and end == len(block)):
                    yield _batch(parts)
                    parts, waiting = [], 0
            del block  # before the next one is waited for

    def _checked(self, start: Position | None, seed: int) -> Position:
        rows, fingerprint = self.pictures.rows, self.pictures.fingerprint()
        if start is None:
            return Position(seed, rows=rows, fingerprint=fingerprint)
        if (start.rows, start.fingerprint) != (rows, fingerprint):
            raise TrainingError(
                f"{self.pictures.address}: {rows} pictures in {len(self.groups.rows)} row groups, "
                f"and the checkpoint has read others ({start.rows} pictures). Give the data of the "
                "checkpoint, or start without it."
            )
        return start


def _batch(parts: list[LoadedBlock]) -> Batch:
    one = len(parts) == 1
    content, labels, weights, rows = (
        columns[0] if one else np.concatenate(columns)
        for columns in zip(
            *((part.content, part.labels, part.weights, part.rows) for part in parts)
        )
    )
    return Batch(content, labels, weights, rows, parts[0].epoch)


def _fitting(pictures: Pictures, division: Division, ahead_bytes: int) -> int:
    """How many row groups are shuffled together where two such blocks are to fit."""
    fitting = ahead_bytes // 2 // max(pictures.bytes_per_group, 1)
    if not fitting:
        most = int(pictures.group_rows.max())
        raise TrainingError(
            f"{pictures.address}: a row group of {most} pictures takes about "
            f"{pictures.bytes_per_group >> 20} MiB, and two must fit into the {ahead_bytes >> 20} "
            "MiB that may be read ahead. Allow more, or write smaller row groups: "
            "`launch data parquet --rows-per-group`"
        )
    return min(division.block_groups, fitting)
