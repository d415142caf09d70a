"""Where in the data a run is: what goes into a checkpoint and comes back at that very sample.

All ranks are in step, so the position is a few numbers that every rank can compute alone: the
epoch, and the steps that were made in it by which division. A run that goes on with another world
adds a division of what was left: any number of restarts in one epoch.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Mapping

import numpy as np

from ..errors import TrainingError
from .division import (
    Division,
    EpochOrder,
    RowGroups,
    Sequence,
    block_permutation,
    blocks_of,
    concatenated,
)


@dataclass(frozen=True)
class Stage:
    """A part of an epoch: ``steps`` batches a rank, of what the stage before it left."""

    division: Division
    steps: int


@dataclass(frozen=True)
class Position:
    """A place between two steps.

    Attributes:
        seed: Of all orders.
        epoch: That is being read, from 0.
        stages: Of that epoch, the first of all its rows; empty at its start.
        rows: Of the data, which must be the same when the run goes on.
        fingerprint: Of the row groups, likewise. 0 for not known.
    """

    seed: int
    epoch: int = 0
    stages: tuple[Stage, ...] = ()
    rows: int = 0
    fingerprint: int = 0

    def as_json(self) -> dict[str, Any]:
        """Plain values for a checkpoint."""
        return asdict(self)


def from_json(about: Mapping[str, Any]) -> Position:
    """The position that ``as_json`` has said.

    Raises:
        TrainingError: It is none.
    """
    try:
        stages = tuple(
            Stage(Division(**stage["division"]), int(stage["steps"])) for stage in about["stages"]
        )
        numbers = (about["rows"], about["fingerprint"])
        return Position(
            int(about["seed"]), int(about["epoch"]), stages, int(numbers[0]), int(numbers[1])
        )
    except (KeyError, TypeError, ValueError) as error:
        raise TrainingError(
            f"the checkpoint's position in the data cannot be read ({error!r}). Start without it."
        ) from error


def with_seed(about: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """What ``Course.state`` gave on one rank, for a rank whose order has another seed."""
    if "position" in about:
        return {**about, "position": {**about["position"], "seed": seed}}
    return {**about, "seed": seed} if "seed" in about else dict(about)


class Epoch:
    """What is left of one epoch, divided: the stages before it are taken away."""

    def __init__(self, groups: RowGroups, position: Position, division: Division) -> None:
        first = position.stages[0].division if position.stages else division
        self.order = EpochOrder(groups, position.seed, position.epoch, first.shuffle)
        self.division = division
        left = Sequence(np.array([0]), np.array([groups.total]))
        before = position.stages
        self.steps_before = 0
        if before and before[-1].division == division:  # the same world goes on
            before, self.steps_before = before[:-1], before[-1].steps
        for number, stage in enumerate(before):
            left = self._unread(left, stage, position, number)
        self.left = left
        self.number = len(before)
        self.position = position

    def steps(self, rank: int) -> int:
        """Batches that a rank still reads in this epoch."""
        return max(0, self.division.rank_steps(len(self.left), rank) - self.steps_before)

    def blocks(self, share: int) -> list[Sequence]:
        """A share's places, block by block."""
        own, _ = self.division.share_rows(len(self.left), share)
        part = self.left.part(self.division.first_row(len(self.left), share), own)
        return blocks_of(part, self.order, self.division.block_groups)

    def permutation(self, rows: int, share: int, block: int) -> Any:
        """The order of a block's ``rows`` rows."""
        return _permutation(self.position, self.division, rows, share, (self.number, block))

    def _unread(self, left: Sequence, stage: Stage, position: Position, number: int) -> Sequence:
        rows, division = len(left), stage.division
        parts = []
        for share in range(division.shares):
            own, _ = division.share_rows(rows, share)
            gone = min(own, division.delivered(rows, share, stage.steps))
            part = left.part(division.first_row(rows, share), own)
            parts.append(_without(part, gone, self.order, position, division, share, number))
        # what "drop" or a short batch would have left over is unread, and takes part again
        ends = [
            division.first_row(rows, share) + division.share_rows(rows, share)[0]
            for share in range(division.shares)
        ]
        begins = [division.first_row(rows, share) for share in range(1, division.shares)] + [rows]
        parts += [left.part(end, begin - end) for end, begin in zip(ends, begins)]
        return concatenated(parts)


def _without(
    part: Sequence,
    gone: int,
    order: EpochOrder,
    position: Position,
    division: Division,
    share: int,
    number: int,
) -> Sequence:
    """A share's places but the first ``gone`` that it has delivered."""
    kept = []
    for block, places in enumerate(blocks_of(part, order, division.block_groups)):
        rows = len(places)
        if gone >= rows:
            gone -= rows
        elif gone == 0:
            kept.append(places)
        else:
            permutation = _permutation(position, division, rows, share, (number, block))
            rest = np.sort(places.places()[permutation[gone:]])
            kept.append(Sequence(rest, rest + 1))
            gone = 0
    return concatenated(kept) if kept else Sequence(np.array([], int), np.array([], int))


def _permutation(
    position: Position, division: Division, rows: int, share: int, at: tuple[int, int]
) -> Any:
    if not division.shuffle:
        return np.arange(rows)
    number, block = at
    # the stage is part of it: a share's second block of rows must not follow its first's order
    return block_permutation(rows, position.seed, position.epoch, share, block + (number << 24))


def advanced(groups: RowGroups, position: Position, division: Division, steps: int) -> Position:
    """Where the run is after ``steps`` more steps of ``division``, by its rank with the most."""
    while True:
        epoch = Epoch(groups, position, division)
        left = epoch.steps(0)  # no rank has more
        if steps < left:
            break
        if left == 0 and not position.stages:
            raise TrainingError(
                f"{groups.total} pictures on {division.ranks} ranks x {division.workers} workers "
                f"give no batch of {division.batch_size}. Use fewer ranks or a smaller batch."
            )
        steps -= left
        position = replace(position, epoch=position.epoch + 1, stages=())
    if steps == 0:
        return position
    if epoch.steps_before:
        before = position.stages[:-1]
        return replace(position, stages=(*before, Stage(division, epoch.steps_before + steps)))
    return replace(position, stages=(*position.stages, Stage(division, steps)))
