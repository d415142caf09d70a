"""What one run of a study measured, each as one number, and several such numbers as a spread.

The table, the charts and the verdict take their figures from here, so that they say the same.
Spreads are over runs, never over the epochs of one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf, isfinite
from statistics import median

from launchers.core.model.jobs import SUCCEEDED
from launchers.scaling.results import Epoch, Row, Run, Spread

# An epoch with more than so many times the images of another is not the same work: ranks leave out
# what does not fill a batch, which is less.
OTHER_WORK = 1.1
# What figures may be off by that are told in whole images a second and hundredths of a second, of
# which an epoch's are a difference.
_RATE_OFF, _SECONDS_OFF = 0.5, 0.01
# An epoch so short that its rounding may be more than this part of it is no measure of speed.
_COARSE = 0.02


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


def speeds(of: Sequence[tuple[Run, Run]]) -> list[tuple[float, float] | None]:
    """How fast the runs of each pair trained, all in one unit; None for a pair without it.

    Epochs a second. Images a second where more pairs have those, since some have no times or
    trained for different numbers of epochs, where an epoch is not the same work in both, and where
    one is so short that hundredths of a second are coarse.
    """
    by_time = [_epochs_per_second(*pair) for pair in of]
    by_images = [_both(images_per_second, *pair) for pair in of]
    timed, rated = (sum(one is not None for one in each) for each in (by_time, by_images))
    return by_images if rated > timed or is_coarse(of) or other_work(of) else by_time


def speed_ups(of: Sequence[tuple[Run, Run]]) -> list[float | None]:
    """How many times faster the first of each pair trains; None where they have no common unit."""
    return [both and both[0] / both[1] for both in speeds(of)]


def other_work(of: Sequence[tuple[Run, Run]]) -> float | None:
    """How many times the images of the second run's epoch the first one's has, as where a script
    takes the same steps at every size; None where an epoch is as large in both, or not known.

    Images an epoch are its seconds times images a second, as exact as these are told.
    """
    counts = [_both(_images_per_epoch, *pair) for pair in of]
    ratios = spread(both[0] / both[1] for both in counts if both)
    off = [_off(mine) * _off(other) for (mine, other), both in zip(of, counts, strict=True) if both]
    if ratios is None or max(ratios.median, 1 / ratios.median) <= OTHER_WORK * median(off):
        return None
    return ratios.median


def is_coarse(of: Sequence[tuple[Run, Run]]) -> bool:
    """Whether an epoch is so short that its time says little, while all images a second are
    known."""
    known = [seconds for pair in of for seconds in map(epoch_seconds, pair) if seconds is not None]
    rated = all(images_per_second(run) for pair in of for run in pair)
    return rated and any(seconds * _COARSE < _SECONDS_OFF for seconds in known)


def _off(run: Run) -> float:
    """How many times too large or too small the images of an epoch may be."""
    seconds, rate = epoch_seconds(run), images_per_second(run)
    if not seconds or not rate or seconds <= _SECONDS_OFF or rate <= _RATE_OFF:
        return inf
    return 1 / ((1 - _SECONDS_OFF / seconds) * (1 - _RATE_OFF / rate))


def _epochs_per_second(run: Run, base: Run) -> tuple[float, float] | None:
    both = _both(epoch_seconds, run, base) if len(run.epochs) == len(base.epochs) else None
    return both and (1 / both[0], 1 / both[1])


def _images_per_epoch(run: Run) -> float | None:
    seconds, rate = epoch_seconds(run), images_per_second(run)
    return seconds * rate if seconds and rate else None


def _both(figure: Callable[[Run], float | None], run: Run, base: Run) -> tuple[float, float] | None:
    """Of the two runs, where both have one above 0."""
    mine, other = figure(run), figure(base)
    return (mine, other) if mine and other else None


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
    faster = spread(speed_ups(pairs(row, base))) if base else None
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
