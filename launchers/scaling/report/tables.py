"""The report's tables as values: the rows of the study with their spread, and its single runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from launchers.scaling import measures
from launchers.scaling.report import words
from launchers.scaling.results import Row, Run, Spread, Study


@dataclass(frozen=True)
class Cell:
    """One figure: its median, and its spread where there are several runs."""

    text: str
    spread: str = ""


@dataclass(frozen=True)
class Line:
    """One row of the table.

    Attributes:
        name: Size and variant.
        runs: ``3 of 3``.
        cells: A cell a column.
        trouble: Why it has no figures; empty where it has some.
    """

    name: str
    runs: str
    cells: tuple[Cell, ...]
    trouble: str = ""


# heading -> the row's spread, how it is written
Column = tuple[str, Callable[[Row], Spread | None], Callable[[float], str]]
COST = "cost a run"
COLUMNS: tuple[Column, ...] = (
    ("seconds an epoch", lambda row: row.epoch_seconds, words.seconds),
    ("images a second", lambda row: row.images_per_second, words.rate),
    ("speed-up", lambda row: row.speed_up, lambda value: f"{value:.2f}"),
    ("efficiency", lambda row: row.efficiency, words.percent),
    ("training loss", lambda row: row.loss, words.share),
    ("training accuracy", lambda row: row.accuracy, words.share),
    ("test loss", lambda row: row.validation_loss, words.share),
    ("test accuracy", lambda row: row.validation_accuracy, words.share),
    (COST, lambda row: row.cost, words.dollars),
)


def columns(study: Study) -> tuple[Column, ...]:
    """The columns for which a row has a figure."""
    return tuple(one for one in COLUMNS if any(one[1](row) for row in study.rows))


def absent(study: Study) -> tuple[str, ...]:
    """The headings for which no row has a figure; but the cost, which a run never says."""
    there = columns(study)
    return tuple(one[0] for one in COLUMNS if one not in there and one[0] != COST)


def lines(study: Study) -> tuple[Line, ...]:
    """The rows of the study in its order; their cells are of ``columns``."""
    return tuple(_line(row, study) for row in study.rows)


def runs(study: Study) -> Iterator[tuple[str, ...]]:
    """A row a run, by ``RUN_HEADS``."""
    for row in study.rows:
        for run in row.runs:
            yield (words.series(row, study), str(run.repeat), words.line(run.job), *_figures(run))


RUN_HEADS = ("size", "repeat", "job", "state", "seconds an epoch", "test accuracy", "reason")


def _figures(run: Run) -> tuple[str, ...]:
    took, share = measures.epoch_seconds(run), measures.accuracy(run)
    return (
        words.line(run.state),
        "" if took is None else words.seconds(took),
        "" if share is None else words.share(share),
        words.line(run.reason),
    )


def _line(row: Row, study: Study) -> Line:
    count = len(measures.succeeded(row))
    cells = tuple(_cell(spread(row), write) for _, spread, write in columns(study))
    states = dict.fromkeys(words.line(run.reason) or words.line(run.state) for run in row.runs)
    trouble = "" if count else "; ".join(states)
    return Line(words.series(row, study), f"{count} of {len(row.runs)}", cells, trouble)


def _cell(of: Spread | None, write: Callable[[float], str]) -> Cell:
    if of is None:
        return Cell("\u2013")
    if of.count == 1:
        return Cell(write(of.median))
    low, high = write(of.low), write(of.high)
    return Cell(write(of.median), f"{low.removesuffix(' %')} to {high}" if low != high else "")
