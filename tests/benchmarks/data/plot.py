"""The rates of the data tables as one SVG: bars with their spread, a panel a table.

Self-contained, and readable on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from statistics import median
from typing import Any

WIDTH, LABEL, BAR, GAP, HEAD = 760, 270, 18, 8, 34
OURS, OTHER, INK = "#2b6cb0", "#a0aec0", "#4a5568"
OUR_READERS = ("launch", "process", "dask", "spark")  # the engines of a conversion, too


def drawn(tables: Mapping[str, Mapping[str, Sequence[Any]]], machine: str) -> str:
    """The SVG's text.

    Args:
        tables: Table -> reader -> its rounds, numbers or with ``rows``: pictures a second.
            OUR_READERS stand out.
        machine: What they were measured on; it stands below.
    """
    parts, top = [], 10
    for title, readers in tables.items():
        panel, height = _panel(title, readers, top)
        parts += panel
        top += height
    foot = label(10, top + 12, f"Pictures a second; median and spread. {machine}", 11)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 24}" '
        f'font-family="sans-serif" role="img"><title>Pictures a second by reader</title>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "\n".join([*parts, foot])
        + "</svg>\n"
    )


def _panel(title: str, readers: Mapping[str, Sequence[Any]], top: int) -> tuple[list[str], int]:
    rates = {name: [getattr(one, "rows", one) for one in all_] for name, all_ in readers.items()}
    most = max(max(all_) for all_ in rates.values())
    scale = (WIDTH - LABEL - 90) / most
    parts = [label(10, top + 18, title, 14, "bold")]
    for number, (name, all_) in enumerate(rates.items()):
        y = top + HEAD + number * (BAR + GAP)
        middle, low, high = median(all_) * scale, min(all_) * scale, max(all_) * scale
        colour = OURS if name in OUR_READERS else OTHER
        parts += [
            label(LABEL - 8, y + 13, name, 12, anchor="end"),
            f'<rect x="{LABEL}" y="{y}" width="{middle:.1f}" height="{BAR}" fill="{colour}"/>',
            f'<path d="M{LABEL + low:.1f} {y + BAR / 2}H{LABEL + high:.1f}" stroke="{INK}"/>',
            label(LABEL + high + 6, y + 13, f"{median(all_):,.0f}", 12),
        ]
    return parts, HEAD + len(rates) * (BAR + GAP) + 12


def label(
    x: float, y: float, text: str, size: int, weight: str = "normal", anchor: str = "start"
) -> str:
    """A text of an SVG; ``x`` and ``y`` are where its line begins, in pixels."""
    return (
        f'<text x="{x:.1f}" y="{y}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'
    )
