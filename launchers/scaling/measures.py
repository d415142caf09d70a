"""What one run of a study measured, each as one number, and several such numbers as a spread.

The table, the charts and the verdict take their figures from here, so that they say the same.
Spreads are over runs, never over the epochs of one run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from math import isfinite
from statistics import median

from launchers.core.model.jobs import SUCCEEDED
from launchers.scaling.results import Epoch, Row, Run, Spread


def succeeded(row: Row) -> tuple[Run, ...]:
    """The runs of ``row`` that count: those whose job succeeded."""
    return tuple(run for run in row.runs if run.state == SUCCEEDED)


def pairs(row: Row, base: Row) -> list[tuple[Run, Run]]:
    """(run, run of ``base``) of the same repeat, and so of the same seed, where both succeeded."""
    others = {run.repeat: run for run in succeeded(base)}
    return [(run, others[run.repeat]) for run in succeeded(row) if run.repeat in others]


def spread(values: Iterable[float | None]) -> Spread | None:
    """Median, lowest and highest of the finite ``values``; None where there is none."""
    known = sorted(value for value in values if value is not None and isfinite(value))
    return Spread(median(known), known[0], known[-1], len(known)) if known else None


def epoch_seconds(run: Run) -> float | None:
    """Seconds of training an epoch: the median over the epochs.

    The first epoch is left out where there are several: it holds what is done once. Where a script
    tells every fifth alone, the time between two is that of five.
    """
    if len(run.epochs) == 1:
        (only,) = run.epochs
        # Of a later one the seconds are those of all epochs before it as well.
        return only.seconds if only.number <= 1 else None
    between = [
        (later.seconds - one.seconds) / (later.number - one.number)
        for one, later in pairwise(run.epochs)
        if one.seconds is not None and later.seconds is not None and later.seconds > one.seconds
    ]
    return median(between) if between else None


def images_per_second(run: Run) -> float | None:
    """Of the whole job: the median over the epochs, without the first where there are several."""
    known = [epoch.images_per_second for epoch in run.epochs[1:] or run.epochs]
    rates = [rate for rate in known if rate is not None]
    return median(rates) if rates else None


def speeds(run: Run, base: Run) -> tuple[float, float] | None:
    """How fast the two trained, in a unit that both have; None where they have none.

    Epochs a second. Images a second where one has no times, or where they trained for different
    numbers of epochs: then an epoch is not the same work in both.
    """
    mine, other = epoch_seconds(run), epoch_seconds(base)
    if mine and other and len(run.epochs) == len(base.epochs):
        return 1 / mine, 1 / other
    mine, other = images_per_second(run), images_per_second(base)
    return (mine, other) if mine and other else None


def speed_up(run: Run, base: Run) -> float | None:
    """How many times faster ``run`` trains than ``base``; None where they have no common unit."""
    both = speeds(run, base)
    return both[0] / both[1] if both else None


def accuracy(run: Run) -> float | None:
    """On data that was not trained on, 0 to 1, at the run's end: of the last epoch's validation,
    else of the result line."""
    last = _last(run).validation_accuracy
    return run.test_accuracy if last is None else last


def loss(run: Run) -> float | None:
    """On data that was not trained on, at the run's end, from where ``accuracy`` comes."""
    last = _last(run).validation_loss
    return run.test_loss if last is None else last


def training_accuracy(run: Run) -> float | None:
    """Of training, 0 to 1, in the last epoch."""
    return _last(run).accuracy


def training_loss(run: Run) -> float | None:
    """Of training, in the last epoch."""
    return _last(run).loss


def best_accuracy(run: Run) -> float | None:
    """The highest validation accuracy at an epoch's end, 0 to 1."""
    known = (epoch.validation_accuracy for epoch in run.epochs)
    return max((one for one in known if one is not None), default=None)


def seconds_to(run: Run, target: float) -> float | None:
    """Seconds of training until the end of the first epoch whose validation accuracy is at least
    ``target``; None where it wasn't reached, or the seconds are not known."""
    for epoch in run.epochs:
        if epoch.validation_accuracy is not None and epoch.validation_accuracy >= target:
            return epoch.seconds
    return None


def base_of(row: Row, rows: Iterable[Row]) -> Row | None:
    """What ``row`` is compared with: the smallest size of its variant of which a run succeeded."""
    same = [one for one in rows if one.size.variant == row.size.variant and succeeded(one)]
    return min(same, key=_order, default=None)


def filled(rows: Iterable[Row]) -> tuple[Row, ...]:
    """``rows``, each with every spread that its runs bear."""
    rows = tuple(rows)
    return tuple(_filled(row, base_of(row, rows)) for row in rows)


def _filled(row: Row, base: Row | None) -> Row:
    runs = succeeded(row)
    faster = spread(speed_up(*pair) for pair in pairs(row, base)) if base else None
    times = row.world_size / base.world_size if base else 1.0
    return replace(
        row,
        epoch_seconds=spread(map(epoch_seconds, runs)),
        images_per_second=spread(map(images_per_second, runs)),
        speed_up=faster,
        efficiency=_divided(faster, times),
        loss=spread(map(training_loss, runs)),
        accuracy=spread(map(training_accuracy, runs)),
        validation_loss=spread(map(loss, runs)),
        validation_accuracy=spread(map(accuracy, runs)),
        cost=spread(run.cost for run in runs),
    )


def _order(row: Row) -> tuple[int, int]:
    return row.world_size, row.size.instances


def _last(run: Run) -> Epoch:
    return run.epochs[-1] if run.epochs else Epoch(0)


def _divided(of: Spread | None, by: float) -> Spread | None:
    return of and Spread(of.median / by, of.low / by, of.high / by, of.count)
