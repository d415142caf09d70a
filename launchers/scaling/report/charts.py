"""The charts of a study as values: what ``svg`` and ``png`` draw, and the table beneath each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from launchers.scaling import measures
from launchers.scaling.report import words
from launchers.scaling.report.beside import variants
from launchers.scaling.results import Epoch, Row, Spread, Study


@dataclass(frozen=True)
class Point:
    """One mark of a chart.

    Attributes:
        x, y: Where it stands; medians over the runs.
        low, high: Of ``y`` over the runs.
        label: What it says, with unit and spread.
    """

    x: float
    y: float
    low: float
    high: float
    label: str


@dataclass(frozen=True)
class Series:
    """What one line joins."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        title: What it is, with its unit.
        at: Where its ticks stand; else they are chosen.
        zero: Whether it begins at 0.
    """

    title: str
    at: tuple[float, ...] = ()
    zero: bool = False


@dataclass(frozen=True)
class Table:
    """The figures of a chart: a heading a column, the first one names the rows."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Chart:
    """One chart.

    Attributes:
        key: Its file and anchor.
        title: Above it.
        about: It in words, for who doesn't see it.
        x, y: Its axes.
        series: In the order of the legend.
        ideal: Ends of the line to measure by: as many times faster as the world is larger.
        table: Its figures.
        dodge: Whether marks of one x stand beside each other.
    """

    key: str
    title: str
    about: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    table: Table
    ideal: tuple[tuple[float, float], tuple[float, float]] | None = None
    dodge: bool = False


def charts(study: Study) -> tuple[Chart, ...]:
    """The charts that the study has figures for."""
    made = (_over_epochs(study), _over_seconds(study), _speed_up(study), _epoch_time(study))
    return tuple(chart for chart in made if chart is not None)


def _over_epochs(study: Study) -> Chart | None:
    found = []
    for row in study.rows:
        points = []
        for number, epochs in _epochs(row):
            share = measures.spread(epoch.validation_accuracy for epoch in epochs)
            if share:
                points.append(_point(number, share, f"epoch {number}: {_shares(share)}"))
        found.append(Series(words.series(row, study), tuple(points)))
    return _curves("accuracy-epochs", "Test accuracy over epochs", Axis("epochs"), found)


def _over_seconds(study: Study) -> Chart | None:
    found = []
    for row in study.rows:
        points = []
        for _, epochs in _epochs(row):
            share = measures.spread(epoch.validation_accuracy for epoch in epochs)
            when = measures.spread(epoch.seconds for epoch in epochs)
            if share and when:
                label = f"{words.seconds(when.median)} s: {_shares(share)}"
                points.append(_point(when.median, share, label))
        found.append(Series(words.series(row, study), tuple(points)))
    x = Axis("seconds of training", zero=True)
    return _curves("accuracy-seconds", "Test accuracy over seconds", x, found)


def _curves(key: str, title: str, x: Axis, found: Sequence[Series]) -> Chart | None:
    known = tuple(series for series in found if series.points)
    if not known:
        return None
    most = max(len(series.points) for series in known)
    rows = tuple(
        (
            str(number + 1),
            *(
                series.points[number].label.removeprefix(f"epoch {number + 1}: ")
                if number < len(series.points)
                else ""
                for series in known
            ),
        )
        for number in range(most)
    )
    heads = ("epoch", *(series.name for series in known))
    return Chart(key, title, _about(title, known), x, Axis("accuracy"), known, Table(heads, rows))


def _speed_up(study: Study) -> Chart | None:
    def figure(row: Row) -> tuple[Spread | None, str]:
        of = row.speed_up
        return of, f"{words.times(of.median)} x{_range(of, words.times)}" if of else ""

    chart = _by_size(study, "speed-up", "Speed-up", Axis("times faster", zero=True), figure)
    if chart is None:
        return None
    sizes = chart.x.at
    bases = [measures.base_of(row, study.rows) for row in study.rows]
    smallest = min((base.world_size for base in bases if base), default=1)
    ends = (sizes[0], sizes[0] / smallest), (sizes[-1], sizes[-1] / smallest)
    return Chart(**{**vars(chart), "ideal": ends})


def _epoch_time(study: Study) -> Chart | None:
    def figure(row: Row) -> tuple[Spread | None, str]:
        of = row.epoch_seconds
        return of, f"{words.seconds(of.median)} s{_range(of, words.seconds)}" if of else ""

    y = Axis("seconds an epoch", zero=True)
    return _by_size(study, "epoch-time", "Time an epoch", y, figure)


def _by_size(
    study: Study, key: str, title: str, y: Axis, figure: Callable[[Row], tuple[Spread | None, str]]
) -> Chart | None:
    """A series a variant over the world sizes; None below two sizes with a figure."""
    found, cells, units = [], {}, {}
    for name, rows in _layouts(study):
        points = []
        for row in rows:
            of, label = figure(row)
            if of is not None:
                unit = units[row.world_size] = words.world(row, study)
                points.append(_point(row.world_size, of, f"{unit}: {label}"))
                cells[row.world_size, name] = label
        found.append(Series(name, tuple(points)))
    known = tuple(series for series in found if series.points)
    sizes = tuple(sorted(units))
    if len(sizes) < 2:
        return None
    heads = ("size", *(series.name for series in known))
    figures = tuple(
        (units[size], *(cells.get((size, series.name), "") for series in known)) for size in sizes
    )
    x = Axis(units[sizes[-1]].split(" ", 1)[1], sizes)
    about = _about(title, known)
    return Chart(key, title, about, x, y, known, Table(heads, figures), dodge=True)


def _layouts(study: Study) -> Iterator[tuple[str, list[Row]]]:
    """(name, rows) of each line over world sizes: a variant, or one of its numbers of hosts where
    the same world size stands on several, and of GPUs where it has several of those."""
    for rows in variants(study):
        name = words.variant(rows[0].size)
        if len({row.world_size for row in rows}) == len(rows):
            yield name or "measured", rows
            continue
        places = {(row.world_size, row.size.instances) for row in rows}
        by_gpus = len(places) < len(rows)
        lines: dict[tuple[int, int], list[Row]] = {}
        for row in rows:
            gpus = -1 if row.size.gpus is None or not by_gpus else row.size.gpus
            lines.setdefault((row.size.instances, gpus), []).append(row)
        for hosts, gpus in sorted(lines):
            with_gpus = words.plural(gpus, "GPU") if gpus >= 0 else ""
            parts = (name, words.plural(hosts, "host"), with_gpus)
            yield ", ".join(filter(None, parts)), lines[hosts, gpus]


def _epochs(row: Row) -> Iterator[tuple[int, list[Epoch]]]:
    """Each epoch's number with what the runs that succeeded said of it."""
    runs = [{epoch.number: epoch for epoch in run.epochs} for run in measures.succeeded(row)]
    for number in sorted({number for run in runs for number in run}):
        yield number, [run[number] for run in runs if number in run]


def _point(x: float, of: Spread, label: str) -> Point:
    return Point(float(x), of.median, of.low, of.high, label)


def _shares(of: Spread) -> str:
    return f"{words.share(of.median)}{_range(of, words.share)}"


def _range(of: Spread, write: Callable[[float], str]) -> str:
    low, high = write(of.low), write(of.high)
    return f" ({low} to {high})" if low != high else ""


def _about(title: str, known: Sequence[Series]) -> str:
    parts = (
        f"{series.name}: {series.points[0].label}"
        + (f", and at the end {series.points[-1].label}" if len(series.points) > 1 else "")
        for series in known
    )
    return f"{title}. {'. '.join(parts)}."
