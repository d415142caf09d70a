"""Rows beside each other: larger sizes beside the smallest, values beside the first one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor

from launchers.scaling import measures
from launchers.scaling.report.comparing import Comparison, difference, ratio
from launchers.scaling.results import Row, Study


@dataclass(frozen=True)
class Beside:
    """A row beside another one; None where their runs give no such pair.

    Attributes:
        row: The one that is judged.
        base: What it is compared with.
        speed: Ratios; above 1 where ``row`` is faster.
        work: How many times the images of the base's epoch one of ``row`` has, where it is not
            the same work; speeds are of images then.
        accuracy: Differences, of data that was not trained on.
        target: An accuracy that all runs of both reached, rounded down to three decimals.
        wait: Seconds of training to ``target``, ratios; below 1 where ``row`` is sooner there.
        cost: US dollars a run, ratios.
        is_coarse: An epoch is too short for its time to be compared; speeds are of images then.
    """

    row: Row
    base: Row
    speed: Comparison | None
    accuracy: Comparison | None
    target: float | None
    wait: Comparison | None
    cost: Comparison | None
    work: float | None = None
    is_coarse: bool = False


def beside(row: Row, base: Row) -> Beside:
    """``row`` compared with ``base``, run by run."""
    runs = measures.pairs(row, base)
    speeds = [both for both in measures.speeds(runs) if both]
    shares = [(measures.accuracy(mine), measures.accuracy(other)) for mine, other in runs]
    costs = [(mine.cost, other.cost) for mine, other in runs]
    target = _target(row, base)
    waits = [
        (measures.seconds_to(mine, target), measures.seconds_to(other, target))
        for mine, other in runs
        if target is not None
    ]
    return Beside(
        row,
        base,
        ratio(speeds),
        difference(_known(shares)),
        target,
        ratio([(mine, other) for mine, other in _known(waits) if mine > 0 and other > 0]),
        ratio([(mine, other) for mine, other in _known(costs) if mine > 0 and other > 0]),
        measures.other_work(runs) if speeds else None,
        measures.is_coarse(runs),
    )


def variants(study: Study) -> list[list[Row]]:
    """The rows of each variant, in order."""
    rows: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for row in study.rows:
        rows.setdefault(row.size.variant, []).append(row)
    return list(rows.values())


def larger_sizes(study: Study) -> Iterator[Beside]:
    """Each size beside the smallest one of its variant, where both have runs that succeeded."""
    for rows in variants(study):
        for row in rows:
            base = measures.base_of(row, rows)
            if base is not None and row is not base and measures.succeeded(row):
                yield beside(row, base)


def other_values(study: Study) -> Iterator[Beside]:
    """Each row of another variant beside the first variant's row of the same size."""
    first, *others = variants(study) or [[]]
    for row in (row for rows in others for row in rows):
        base = next((one for one in first if _place(one) == _place(row)), None)
        if base is not None and measures.succeeded(row) and measures.succeeded(base):
            yield beside(row, base)


def next_smaller(one: Beside, study: Study) -> Beside | None:
    """The row of ``one`` beside the size before it, where that is not its base already: growing
    once more is a decision of its own."""
    between = [
        row
        for row in study.rows
        if row.size.variant == one.row.size.variant
        and one.base.world_size < row.world_size < one.row.world_size
        and measures.succeeded(row)
    ]
    return beside(one.row, max(between, key=lambda row: row.world_size)) if between else None


def _target(row: Row, base: Row) -> float | None:
    runs = [*measures.succeeded(row), *measures.succeeded(base)]
    known = [best for best in map(measures.best_accuracy, runs) if best is not None]
    target = floor(1000 * min(known)) / 1000 if len(known) == len(runs) > 0 else 0.0
    return target or None


def _known(
    both: Sequence[tuple[float | None, float | None]],
) -> list[tuple[float, float]]:
    return [(mine, other) for mine, other in both if mine is not None and other is not None]


def _place(row: Row) -> tuple[int, int, int | None]:
    return row.size.instances, row.size.processes, row.size.gpus
