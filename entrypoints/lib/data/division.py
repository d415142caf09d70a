"""Which rows of Parquet a share reads, in which order: arithmetic on row numbers, nothing else.

A share is one worker of one rank. Seed and epoch decide an order of the row groups, turned by a
random number of rows, so that what a remainder leaves over is another part each time; that sequence
of rows is cut into one contiguous range a share. Within a share the rows of ``block_groups``
consecutive row groups are shuffled together. So every position is computed, never replayed, and a
run that stopped in the middle of an epoch goes on with exactly the rows that are unread, also with
another number of shares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import TrainingError

DROP, PAD, UNEVEN = "drop", "pad", "uneven"
REMAINDERS = (DROP, PAD, UNEVEN)


@dataclass(frozen=True)
class Division:
    """How the rows of an epoch are divided.

    Attributes:
        ranks: Of the world.
        workers: Of each rank; batch j of a rank comes from its worker j % workers.
        batch_size: Rows of a worker's batch.
        remainder: "drop" leaves fewer than ranks x workers rows of an epoch unread, others each
            time; "pad" repeats rows with weight 0; "uneven" reads each row once, so that ranks may
            differ by a step.
        short_batches: Whether the last batch of an epoch may be short; False leaves it out.
        block_groups: Row groups whose rows are shuffled together.
        shuffle: False reads in the order of the files.
    """

    ranks: int = 1
    workers: int = 1
    batch_size: int = 64
    remainder: str = DROP
    short_batches: bool = True
    block_groups: int = 16
    shuffle: bool = True

    def __post_init__(self) -> None:
        for name in ("ranks", "workers", "batch_size", "block_groups"):
            if getattr(self, name) < 1:
                raise TrainingError(f"{name} {getattr(self, name)}: expected at least 1")
        if self.remainder not in REMAINDERS:
            raise TrainingError(
                f"remainder {self.remainder}: expected one of {', '.join(REMAINDERS)}"
            )

    @property
    def shares(self) -> int:
        """Ranks times workers; the share of a worker is rank x workers + worker."""
        return self.ranks * self.workers

    def share_rows(self, rows: int, share: int) -> tuple[int, int]:
        """(rows of its own, rows that it delivers) of a share of ``rows`` rows.

        Delivered are more for "pad", whose last is a repetition. They never grow with the share.
        """
        least, more = divmod(rows, self.shares)
        own = least + (1 if self.remainder != DROP and share < more else 0)
        delivered = least + (1 if self.remainder == PAD and more else 0)
        delivered = own if self.remainder != PAD else delivered
        if not self.short_batches:
            delivered -= delivered % self.batch_size
        return min(own, delivered), delivered

    def first_row(self, rows: int, share: int) -> int:
        """Where in the sequence the range of a share begins."""
        least, more = divmod(rows, self.shares)
        return share * least + (min(share, more) if self.remainder != DROP else 0)

    def rank_steps(self, rows: int, rank: int) -> int:
        """Batches that a rank reads of ``rows`` rows."""
        first = rank * self.workers
        return sum(
            -(-self.share_rows(rows, share)[1] // self.batch_size)
            for share in range(first, first + self.workers)
        )

    def delivered(self, rows: int, share: int, steps: int) -> int:
        """Rows that a share has delivered of ``rows`` after ``steps`` batches of its rank."""
        batches = max(0, -(-(steps - share % self.workers) // self.workers))
        return min(batches * self.batch_size, self.share_rows(rows, share)[1])


class RowGroups:
    """The row groups of a place: how many rows each holds, in the order of the files."""

    def __init__(self, rows: Array) -> None:
        self.rows = np.asarray(rows, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.rows)]).astype(np.int64)

    @property
    def total(self) -> int:
        """Rows of all row groups."""
        return int(self.starts[-1])

    def of(self, rows: Array) -> Array:
        """The row group (int64) of each row number."""
        return np.asarray(np.searchsorted(self.starts, rows, side="right") - 1)


class EpochOrder:
    """The sequence of all rows in one epoch, before shuffling within blocks.

    Places in it are 0 to ``groups.total`` - 1. RandomState's stream is frozen (NEP 19), so that
    a run goes on in an image with another NumPy.
    """

    def __init__(self, groups: RowGroups, seed: int, epoch: int, shuffle: bool) -> None:
        random = np.random.RandomState([seed, epoch])
        count = len(groups.rows)
        order = random.permutation(count) if shuffle else np.arange(count)
        turn = int(random.randint(max(groups.total, 1))) if shuffle else 0
        ends = np.cumsum(groups.rows[order])
        first = int(np.searchsorted(ends, turn, side="right")) if count else 0
        within = turn - int(ends[first] - groups.rows[order[first]]) if count else 0
        order = np.concatenate([order[first:], order[:first], order[first : first + 1]])
        lengths, starts = groups.rows[order].copy(), groups.starts[:-1][order].copy()
        if count:
            lengths[0] -= within
            starts[0] += within
            lengths[-1] = within
        self.groups = groups
        self._first_row = starts  # row number of each segment's first place
        self._begins = np.concatenate([[0], np.cumsum(lengths)])[:-1]

    def rows(self, places: Array) -> Array:
        """The row numbers (int64) at these places."""
        segment = np.searchsorted(self._begins, places, side="right") - 1
        return np.asarray(self._first_row[segment] + places - self._begins[segment])

    def borders(self) -> Array:
        """The places at which another row group begins, sorted."""
        return np.asarray(self._begins)


class Sequence:
    """Places of an epoch's order that are to be divided, as ranges: few numbers for many rows."""

    def __init__(self, starts: Array, stops: Array) -> None:
        keep = stops > starts
        self.starts, self.stops = starts[keep].astype(np.int64), stops[keep].astype(np.int64)
        self._ends = np.cumsum(self.stops - self.starts)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def part(self, first: int, count: int) -> Sequence:
        """The ``count`` places from number ``first`` on."""
        begins = self._ends - (self.stops - self.starts)
        low = np.clip(first - begins, 0, self.stops - self.starts)
        high = np.clip(first + count - begins, 0, self.stops - self.starts)
        return Sequence(self.starts + low, self.starts + high)

    def places(self) -> Array:
        """All of them (int64), in order: as many numbers as rows."""
        count = self.stops - self.starts
        shift = np.repeat(self.starts - (self._ends - count), count)
        return np.asarray(shift + np.arange(len(self)))


def concatenated(parts: list[Sequence]) -> Sequence:
    """These one after the other."""
    return Sequence(
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.stops for part in parts]),
    )


def blocks_of(part: Sequence, order: EpochOrder, block_groups: int) -> list[Sequence]:
    """A share's places in blocks of ``block_groups`` consecutive row groups."""
    borders = order.borders()
    cut: list[int] = []  # numbers within the share at which a block begins
    seen = 0
    last = -1
    position = 0
    for start, stop in zip(part.starts.tolist(), part.stops.tolist()):
        at = int(np.searchsorted(borders, start, side="right")) - 1
        while True:
            if at != last:
                if seen % block_groups == 0:
                    cut.append(position)
                seen, last = seen + 1, at
            end = int(borders[at + 1]) if at + 1 < len(borders) else stop
            position += min(end, stop) - start
            if end >= stop:
                break
            start, at = end, at + 1
    ends = [*cut[1:], position]
    return [part.part(first, end - first) for first, end in zip(cut, ends)]


def block_permutation(rows: int, seed: int, epoch: int, share: int, block: int) -> Array:
    """In which order the ``rows`` places of a block are delivered."""
    return np.random.RandomState([seed, epoch, share, block]).permutation(rows)
