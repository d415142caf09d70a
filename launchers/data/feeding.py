"""Whether so many ranks can be fed evenly from a split: the loader's division, by numbers alone.

The loader (entrypoints/lib/data) cuts an epoch's rows into one range a rank. What is over where
they don't divide is left for another epoch (`--remainder drop`), or filled up by rows that are
repeated without weight (`pad`), or read by those ranks that have it (`uneven`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from launchers.core.model.problems import Problem
from launchers.data.catalogue import RULES


@dataclass(frozen=True)
class Feeding:
    """One split for one number of ranks, a reader a rank.

    Attributes:
        rows: Of each rank in an epoch; the remainder aside.
        steps: Of each rank in an epoch.
        last_batch: Rows of each rank's last batch.
        left_over: Rows that no rank reads in an epoch with `--remainder drop`; others in each.
        repeated: Rows that are read twice with `--remainder pad`.
        row_groups: Of the split.
    """

    ranks: int
    rows: int
    steps: int
    last_batch: int
    left_over: int
    repeated: int
    row_groups: int

    @property
    def starves(self) -> bool:
        """Whether there is not a row for each rank."""
        return self.rows == 0

    @property
    def shares_groups(self) -> bool:
        """Whether there are fewer row groups than ranks."""
        return self.row_groups < self.ranks


def feeding(rows: int, row_groups: int, ranks: int, batch_size: int) -> Feeding:
    """How ``rows`` in ``row_groups`` feed ``ranks`` ranks with batches of ``batch_size``."""
    each, left_over = divmod(rows, ranks)
    steps = -(-each // batch_size)
    last = each - (steps - 1) * batch_size if steps else 0
    return Feeding(ranks, each, steps, last, left_over, -rows % ranks, row_groups)


def problems(split: str, fed: Sequence[Feeding]) -> list[Problem]:
    """A warning for each number of ranks that has too few rows, or too few row groups."""
    found = []
    for one in fed:
        what = f"{split or 'the place'}, {one.ranks} ranks"
        if one.starves:
            there, needed = f"{one.left_over} rows", f"{one.ranks} rows or more"
            found.append(RULES["data-too-few"].at(what, there, needed))
        elif one.shares_groups:
            there = f"{one.row_groups} row groups"
            found.append(RULES["data-row-groups"].at(what, there, f"{one.ranks} or more"))
    return found
