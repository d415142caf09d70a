"""The charts of a report as one PNG, by matplotlib: for slides and chats.

Only this module imports matplotlib; call it where ``files.missing`` says nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from io import BytesIO
from typing import Any

from launchers.scaling.report import words
from launchers.scaling.report.charts import Chart, Series
from launchers.scaling.report.marks import look
from launchers.scaling.report.scales import scales
from launchers.scaling.report.svg import BANDS
from launchers.scaling.results import Study

INK, GRID, IDEAL = "#1b2430", "#e3e7ec", "#6a7583"
# Inches of a chart, and dots an inch.
WIDTH, HEIGHT, DOTS = 6.4, 4.4, 150
# Of a series' name in a legend, in letters.
LONGEST = 60


def picture(charts: Sequence[Chart], study: Study) -> bytes:
    """The PNG's bytes: two charts a line, with machine and date below.

    Texts are drawn as they are: none is read as mathematics, and letters that the font lacks are
    boxes.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(2, len(charts))
    down = -(-len(charts) // across)
    figure = Figure(figsize=(WIDTH * across, HEIGHT * down + 0.4), dpi=DOTS, facecolor="white")
    FigureCanvasAgg(figure)
    for place, chart in enumerate(charts, 1):
        _draw(figure.add_subplot(down, across, place), chart)
    foot = f"{study.name}: {study.machine}, {words.moment(study.begun)}"
    _plain(figure.text(0.01, 0.01, words.line(foot), fontsize=8, color=IDEAL))
    with warnings.catch_warnings():
        # A name in a script that the font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.tight_layout(rect=(0, 0.03, 1, 1))
        out = BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _draw(axes: Any, chart: Chart) -> None:
    for number, series in enumerate(chart.series):
        _line(axes, chart, series, number)
    if chart.ideal:
        (left, low), (right, high) = chart.ideal
        axes.plot([left, right], [low, high], color=IDEAL, linestyle=(0, (3, 3)), linewidth=1.2)
    x, y = scales(chart)
    # A marker at the edge is whole.
    axes.set_xlim(x.low, x.high + (x.high - x.low) * 0.02)
    axes.set_ylim(y.low, y.high + (y.high - y.low) * 0.02)
    axes.set_xticks([tick for tick, _ in x.ticks], [label for _, label in x.ticks])
    axes.set_yticks([tick for tick, _ in y.ticks], [label for _, label in y.ticks])
    axes.grid(axis="y", color=GRID)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    _plain(axes.set_title(chart.title, loc="left", fontsize=11, color=INK, fontweight="bold"))
    _plain(axes.set_xlabel(chart.x.title, color=INK))
    _plain(axes.set_ylabel(chart.y.title, color=INK))
    names = [*(series.name for series in chart.series), *(["ideal"] if chart.ideal else [])]
    # A label of the legend that begins with an underscore would be left out: texts come after.
    legend = axes.legend(axes.get_lines(), [str(n) for n in range(len(names))], fontsize=7)
    for text, name in zip(legend.get_texts(), names, strict=True):
        _plain(text)
        text.set_text(words.line(name, LONGEST))


def _line(axes: Any, chart: Chart, series: Series, number: int) -> None:
    mark = look(number)
    width = 1.6
    dash = tuple(length / width for length in mark.dash)
    xs = [point.x for point in series.points]
    low, high = [point.low for point in series.points], [point.high for point in series.points]
    ys = [point.y for point in series.points]
    axes.plot(
        xs,
        ys,
        color=mark.light,
        linewidth=width,
        linestyle=(0, dash) if dash else "-",
        marker=mark.symbol,
        markersize=6,
        markeredgecolor="white",
        markeredgewidth=0.6,
    )
    if chart.dodge:
        axes.vlines(xs, low, high, color=mark.light, linewidth=1.2)
    elif len(chart.series) <= BANDS:
        axes.fill_between(xs, low, high, color=mark.light, alpha=0.14, linewidth=0)


def _plain(text: Any) -> None:
    """Dollar signs are letters: what a study says is no formula."""
    text.set_parse_math(False)
