"""From values to places: round ticks, and where a value lies between two ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10

from launchers.scaling.report.charts import Axis, Chart


@dataclass(frozen=True)
class Scale:
    """One axis with its ends.

    Attributes:
        low, high: The values at its ends.
        ticks: Values and what stands there.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def part(self, value: float) -> float:
        """0 at the low end, 1 at the high end."""
        return (value - self.low) / (self.high - self.low)


def scales(chart: Chart, most: tuple[int, int] = (6, 6)) -> tuple[Scale, Scale]:
    """The two axes of ``chart``, with at most so many ticks where the chart names none."""
    points = [point for series in chart.series for point in series.points]
    xs = [point.x for point in points]
    ys = [value for point in points for value in (point.low, point.high)]
    return (
        _scale(chart.x, xs, most[0], to_end=False),
        _scale(chart.y, [*ys, *(y for _, y in chart.ideal or ())], most[1], to_end=True),
    )


def ticks(low: float, high: float, most: int, whole: bool = False) -> list[float]:
    """Round values (1, 2 or 5 times a power of ten apart) from at or below ``low`` to at or above
    ``high``.

    Example:
        >>> ticks(0.81, 0.9, 6)
        [0.8, 0.82, 0.84, 0.86, 0.88, 0.9]
    """
    # Values that are all the same stand between two ticks that differ in what can be read.
    least = max(1e-9, 1e-3 * max(abs(low), abs(high)))
    step = _step(max(high - low, least) / max(most - 1, 1))
    if whole:
        step = max(1.0, step)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, max(last, first + 1) + 1)]


def _scale(axis: Axis, values: Iterable[float], most: int, to_end: bool) -> Scale:
    """``to_end``: the axis ends at a tick, else at the largest value."""
    known = [*values, *([0.0] if axis.zero else [])]
    low, high = min(known), max(known)
    if axis.at:
        edge = (axis.at[-1] - axis.at[0]) * 0.08
        return Scale(axis.at[0] - edge, axis.at[-1] + edge, _spaced(axis.at, low, high, most))
    found = ticks(low, high, most, whole=axis.title == "epochs")
    digits = max(0, -floor(log10(found[1] - found[0]) + 1e-9))
    end = found[-1] if to_end or high <= found[0] else high
    shown = (tick for tick in found if tick <= end)
    return Scale(found[0], end, tuple((tick, f"{tick:,.{digits}f}") for tick in shown))


def _spaced(
    at: Iterable[float], low: float, high: float, most: int
) -> tuple[tuple[float, str], ...]:
    """The ticks that have room: of those that lie too near to the next larger one, the larger."""
    kept: list[float] = []
    for value in sorted(at, reverse=True):
        if not kept or kept[-1] - value >= (high - low) / (3 * most):
            kept.append(value)
    return tuple((value, f"{value:g}") for value in reversed(kept))


def _step(least: float) -> float:
    power = 10.0 ** floor(log10(least))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= least * (1 - 1e-9))
