"""A step's parts as one SVG: how much of each, and the middle step in the order of time.

Self-contained, and readable on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.benchmarks.data.plot import INK, label
from tests.benchmarks.speed.events import PARTS, Step

WIDTH, LEFT, BAR = 760, 20, 34
# In lightness they differ too, so that they do without their colour; the table has the figures.
COLOURS = dict(zip(PARTS, ("#1a365d", "#c05621", "#ecc94b", "#68a08c", "#e2e8f0"), strict=True))


def drawn(means: Mapping[str, float], middle: Step, title: str, machine: str) -> str:
    """The SVG's text.

    Args:
        means: Part -> milliseconds of a step.
        middle: The step that is drawn in the order of time.
        title: What was trained.
        machine: What it was measured on; it stands below.
    """
    whole = sum(means.values())
    at, shares = 0.0, []
    for part in reversed(PARTS):
        shares.append((part, at, at + means[part]))
        at += means[part]
    origin = middle.begin
    course = [(part, begin - origin, end - origin) for part, begin, end in middle.pieces]
    parts = [label(LEFT, 26, f"Where a step's time goes: {title}", 15, "bold")]
    parts += [label(LEFT, 58, f"The mean step, {whole:.1f} ms, by parts", 12)]
    parts += _band(shares, whole, 66)
    parts += [label(LEFT, 130, f"One step of {middle.took / 1000:.1f} ms in the order of time", 12)]
    parts += _band(course, middle.took, 138)
    for number, part in enumerate(reversed(PARTS)):
        x = LEFT + number * (WIDTH - 2 * LEFT) / len(PARTS)
        share = f"{means[part]:.1f} ms, {100 * means[part] / whole:.0f} %"
        parts += [_block(x, 190, 28, 12, part), label(x, 217, part, 11), label(x, 231, share, 11)]
    parts.append(label(LEFT, 256, machine, 11))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 268" '
        f'font-family="sans-serif" role="img"><title>Where a step\'s time goes</title>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(parts) + "</svg>\n"
    )


def _band(pieces: Iterable[tuple[str, float, float]], whole: float, top: int) -> list[str]:
    scale = (WIDTH - 2 * LEFT) / whole
    return [
        _block(LEFT + begin * scale, top, (end - begin) * scale, BAR, part)
        for part, begin, end in pieces
    ]


def _block(x: float, y: int, width: float, height: int, part: str) -> str:
    return (
        f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{height}" fill="{COLOURS[part]}" '
        f'stroke="{INK}" stroke-width="0.3"><title>{part}</title></rect>'
    )
