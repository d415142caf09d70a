"""Charts as inline SVG, of our own: no script, no style of its own, colours by class.

The page's stylesheet gives ``ink``, ``grid``, ``ideal`` and ``s0`` to ``s11`` their colours, light
and dark. Texts are escaped here; nothing in a chart is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from launchers.scaling.report.charts import Chart, Point, Series
from launchers.scaling.report.marks import MARKS, look
from launchers.scaling.report.scales import Scale, scales

# Of a character of 12 px, for what has to fit; no font is asked.
LETTER = 6.8
RADIUS = 4.5
# With more lines than this their bands would hide each other; the table beneath has the spread.
BANDS = 4


@dataclass(frozen=True)
class Plot:
    """Where a chart's values lie, in px from the top left corner."""

    left: float
    top: float
    right: float
    bottom: float
    x: Scale
    y: Scale

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of two values."""
        across = self.left + (self.right - self.left) * self.x.part(x)
        return across, self.bottom - (self.bottom - self.top) * self.y.part(y)


def drawn(chart: Chart, width: int, height: int, name: str) -> str:
    """The ``<svg>`` of ``chart`` in ``width`` x ``height`` px.

    Args:
        name: Its class, and what makes its ids its own on the page.
    """
    plot = _plot(chart, width, height)
    key = f"{chart.key}-{name}"
    named = f'role="img" aria-labelledby="{key}-title {key}-about"'
    parts = [
        f'<svg class="{name}" viewBox="0 0 {width} {height}" {named}>',
        f'<title id="{key}-title">{escape(chart.title)}</title>',
        f'<desc id="{key}-about">{escape(chart.about)}</desc>',
        *_axes(chart, plot, width, height),
    ]
    if chart.ideal:
        ends = " ".join(_pair(plot.at(*end)) for end in chart.ideal)
        parts.append(f'<polyline class="ideal" points="{ends}"/>')
    if not chart.dodge and len(chart.series) <= BANDS:
        parts += [_band(series, plot, number) for number, series in enumerate(chart.series)]
    for number, series in enumerate(chart.series):
        aside = (number - (len(chart.series) - 1) / 2) * 2 * RADIUS if chart.dodge else 0.0
        parts += _line(series, plot, number, aside, bars=chart.dodge)
    return "".join([*parts, "</svg>"])


def sample(number: int) -> str:
    """The legend's piece of line and marker of the series ``number``."""
    line = f'<path class="line s{number % len(MARKS)}" d="M1 8H39"{_dash(number)}/>'
    return (
        f'<svg class="sample" viewBox="0 0 40 16" aria-hidden="true">{line}'
        f"{_marker(number, 20, 8)}</svg>"
    )


def ideal_sample() -> str:
    """The legend's piece of the line to measure by."""
    line = '<path class="ideal" d="M1 8H39"/>'
    return f'<svg class="sample" viewBox="0 0 40 16" aria-hidden="true">{line}</svg>'


def _plot(chart: Chart, width: int, height: int) -> Plot:
    # So many that each has 1.5 times the room of a long tick.
    x, y = scales(chart, (max(3, width // 75), 6))
    widest = max(len(label) for _, label in y.ticks)
    left = 10 + LETTER * widest
    return Plot(left, 30.0, width - 14.0, height - 42.0, x, y)


def _axes(chart: Chart, plot: Plot, width: int, height: int) -> Iterator[str]:
    yield _text(2, 14, chart.y.title, "start")
    yield _text((plot.left + plot.right) / 2, height - 6, chart.x.title, "middle")
    for value, label in plot.y.ticks:
        _, across = plot.at(plot.x.low, value)
        yield f'<path class="grid" d="M{_n(plot.left)} {_n(across)}H{_n(plot.right)}"/>'
        yield _text(plot.left - 6, across + 4, label, "end")
    for value, label in plot.x.ticks:
        along, _ = plot.at(value, plot.y.low)
        yield f'<path class="axis" d="M{_n(along)} {_n(plot.bottom)}v5"/>'
        half = LETTER * len(label) / 2
        yield _text(min(along, width - half), plot.bottom + 18, label, "middle")
    yield f'<path class="axis" d="M{_n(plot.left)} {_n(plot.bottom)}H{_n(plot.right)}"/>'


def _band(series: Series, plot: Plot, number: int) -> str:
    above = [_pair(plot.at(point.x, point.high)) for point in series.points]
    below = [_pair(plot.at(point.x, point.low)) for point in reversed(series.points)]
    return f'<polygon class="band s{number % len(MARKS)}" points="{" ".join(above + below)}"/>'


def _line(series: Series, plot: Plot, number: int, aside: float, bars: bool) -> Iterator[str]:
    colour = f"s{number % len(MARKS)}"
    places = [_aside(plot.at(point.x, point.y), aside) for point in series.points]
    if len(places) > 1:
        joined = " ".join(map(_pair, places))
        yield f'<polyline class="line {colour}" points="{joined}"{_dash(number)}/>'
    for point, (x, y) in zip(series.points, places, strict=True):
        if bars and point.low < point.high:
            yield f'<path class="bar {colour}" d="{_bar(point, plot, x)}"/>'
        yield f"<g>{_tip(series, point)}{_marker(number, x, y)}</g>"


def _bar(point: Point, plot: Plot, x: float) -> str:
    _, low = plot.at(point.x, point.low)
    _, high = plot.at(point.x, point.high)
    return f"M{_n(x)} {_n(low)}V{_n(high)}M{_n(x - 4)} {_n(low)}h8M{_n(x - 4)} {_n(high)}h8"


def _tip(series: Series, point: Point) -> str:
    return f"<title>{escape(f'{series.name}, {point.label}')}</title>"


def _marker(number: int, x: float, y: float) -> str:
    colour, shape = f"mark s{number % len(MARKS)}", look(number).shape
    if not shape:
        return f'<circle class="{colour}" cx="{_n(x)}" cy="{_n(y)}" r="{RADIUS}"/>'
    corners = " ".join(_pair((x + RADIUS * 1.15 * a, y + RADIUS * 1.15 * b)) for a, b in shape)
    return f'<polygon class="{colour}" points="{corners}"/>'


def _dash(number: int) -> str:
    dash = look(number).dash
    return f' stroke-dasharray="{" ".join(map(_n, dash))}"' if dash else ""


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="ink" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">{escape(text)}</text>'


def _aside(place: Sequence[float], by: float) -> tuple[float, float]:
    return place[0] + by, place[1]


def _pair(place: Sequence[float]) -> str:
    return f"{_n(place[0])},{_n(place[1])}"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
