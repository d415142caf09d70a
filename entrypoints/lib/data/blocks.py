"""Blocks of row groups: what a share reads at once, shuffles together and holds in memory.

While one block is delivered the next one is read, by threads and no further: so two blocks are what
a reader holds, however much data there is.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import local
from typing import Any, Generator, Iterator

import numpy as np

from ..arrays import Array
from ..errors import TrainingError
from . import layout
from .parquet_files import MAKE_ANEW, open_file, reading, refuse_nulls
from .parquet_place import Pictures
from .position import Epoch

OPEN_FILES = 4  # of each thread


@dataclass(frozen=True)
class Block:
    """What is to be read.

    Attributes:
        rows: (n,) int64, row numbers in the order of the files' groups.
        order: (m,) int64, in which order they are delivered; places in ``rows``.
        weights: (m,) float32: 0 for a repetition.
        epoch: Of which it is.
        ends_epoch: Whether it is the share's last one of that epoch.
    """

    rows: Array
    order: Array
    weights: Array
    epoch: int
    ends_epoch: bool


@dataclass
class LoadedBlock:
    """What was read, in the order in which it is delivered; ``Batch`` says the columns."""

    content: Array
    labels: Array
    weights: Array
    rows: Array
    order: Array
    epoch: int
    ends_epoch: bool

    def part(self, begin: int, end: int) -> LoadedBlock:
        """Copies of some rows, which don't keep the block in memory."""
        chosen = self.order[begin:end]
        return LoadedBlock(
            self.content[chosen],
            self.labels[chosen],
            self.weights[begin:end].copy(),
            self.rows[chosen],
            chosen,
            self.epoch,
            self.ends_epoch,
        )

    def __len__(self) -> int:
        return len(self.order)


def share_blocks(epoch: Epoch, share: int) -> Iterator[Block]:
    """The blocks of a share in what is left of an epoch."""
    left, division = len(epoch.left), epoch.division
    own, delivered = division.share_rows(left, share)
    gone = division.delivered(left, share, epoch.steps_before)
    places = epoch.blocks(share)
    if not places and delivered:
        places = [epoch.left.part(0, 1)]  # a share of repetitions alone
    for number, block in enumerate(places):
        last = number == len(places) - 1
        count = len(block)
        order = epoch.permutation(count, share, number)
        weights = np.ones(count, np.float32)
        if not own:
            weights[:] = 0
        elif last and delivered > own:
            order = np.concatenate([order, np.resize(order, delivered - own)])
            weights = np.concatenate([weights, np.zeros(delivered - own, np.float32)])
        if gone >= len(order):
            gone -= len(order)
            continue
        rows = epoch.order.rows(block.places())
        yield Block(rows, order[gone:], weights[gone:], epoch.position.epoch, last)
        gone = 0


def unread(block: Block) -> LoadedBlock:
    """The block with None for content and 0 for labels: for who wants the rows alone."""
    nothing = np.empty(len(block.rows), object)
    labels = np.zeros(len(block.rows), np.int64)
    return _loaded(block, nothing, labels)


def _loaded(block: Block, content: Array, labels: Array) -> LoadedBlock:
    return LoadedBlock(
        content, labels, block.weights, block.rows, block.order, block.epoch, block.ends_epoch
    )


def read_ahead(
    pictures: Pictures, blocks: Iterator[Block], threads: int
) -> Generator[LoadedBlock, None, None]:
    """These blocks' pictures, one block ahead of the one that is in use.

    Raises:
        TrainingError: A file cannot be read, or is not what it was when it was opened.
    """
    files = _Files(pictures)
    waiting: deque[_Reading] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="read-ahead") as pool:
        try:
            for block in blocks:
                waiting.append(_Reading(files, block, pool))
                if len(waiting) == 2:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()


class _Reading:
    """A block that is being read: each of its row groups by whichever thread is free."""

    def __init__(self, files: _Files, block: Block, pool: ThreadPoolExecutor) -> None:
        count = len(block.rows)
        self._block = block
        self._content = np.empty(count, object)
        self._labels = np.empty(count, np.int64)
        groups = files.groups.of(block.rows)
        begins = np.flatnonzero(np.diff(groups, prepend=-1))
        self._futures: list[Future[None]] = []
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), count]):
            group = int(groups[begin])
            within = block.rows[begin:end] - files.groups.starts[group]
            targets = self._content[begin:end], self._labels[begin:end]
            self._futures.append(pool.submit(files.load, group, within, *targets))

    def result(self) -> LoadedBlock:
        """The block, once it is read."""
        for future in self._futures:
            future.result()
        return _loaded(self._block, self._content, self._labels)

    def cancel(self) -> None:
        """Row groups that nobody has begun to read are not read."""
        for future in self._futures:
            future.cancel()


class _Files:
    """The open files of each thread, few at a time."""

    def __init__(self, pictures: Pictures) -> None:
        self.pictures = pictures
        self.groups = pictures.groups
        self._mine = local()

    def load(self, group: int, within: Array, content: Array, labels: Array) -> None:
        """Puts the rows ``within`` a row group into ``content`` and ``labels``."""
        pictures = self.pictures
        path = pictures.files[int(pictures.file_of_group[group])]
        number, expected = int(pictures.group_in_file[group]), int(pictures.group_rows[group])
        with reading(path):
            file = self._open(path)
            if number >= file.num_row_groups:
                raise TrainingError(
                    f"{path}: has {file.num_row_groups} row groups; expected at least "
                    f"{number + 1}. {MAKE_ANEW}"
                )
            table = file.read_row_group(
                number, columns=[layout.LABEL, layout.CONTENT], use_threads=False
            )
        if table.num_rows != expected:
            raise TrainingError(
                f"{path}: row group {number} has {table.num_rows} rows; expected {expected}. "
                f"{MAKE_ANEW}"
            )
        for column in table.column_names:
            refuse_nulls(path, number, column, table.column(column).null_count)
        if len(within) < expected:
            begin = int(within[0])
            is_run = int(within[-1]) - begin == len(within) - 1
            table = table.slice(begin, len(within)) if is_run else table.take(within)
        labels[:] = self._checked_labels(table, path, number, within)
        content[:] = table.column(layout.CONTENT).to_numpy()

    def _checked_labels(self, table: Any, path: str, number: int, within: Array) -> Array:
        labels = table.column(layout.LABEL).to_numpy()
        classes = len(self.pictures.classes)
        wrong = np.flatnonzero((labels < 0) | (labels >= classes))
        if len(wrong):
            raise TrainingError(
                f"{path}: row group {number}, row {int(within[wrong[0]])}: label "
                f"{int(labels[wrong[0]])}; expected 0 to {classes - 1}. {MAKE_ANEW}"
            )
        return np.asarray(labels)

    def _open(self, path: str) -> Any:
        if not hasattr(self._mine, "files"):
            self._mine.files = OrderedDict()
        files = self._mine.files
        if path in files:
            files.move_to_end(path)
            return files[path]
        while len(files) >= OPEN_FILES:
            files.popitem(last=False)[1].close()
        files[path] = open_file(self.pictures.filesystem, path)
        return files[path]
