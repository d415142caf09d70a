"""How series differ: by marker, by dash and by colour, so that none has to be told by one alone."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin

# Corners around 0, 0.
Shape = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Mark:
    """The look of one series.

    Attributes:
        shape: Corners around 0, 0 of a marker of radius 1; empty for a circle.
        symbol: The same marker's name in matplotlib.
        dash: Lengths of line and gap, in widths of a line of 1 px; empty for a whole line.
        light, dark: Colours on a light and on a dark page.
    """

    shape: Shape
    symbol: str
    dash: tuple[float, ...]
    light: str
    dark: str


def _polygon(
    corners: int, turn: float = 0.0, inner: float = 1.0
) -> tuple[tuple[float, float], ...]:
    """A regular polygon with a corner at the top; every second one at ``inner`` of the radius."""
    return tuple(
        (
            (inner if corner % 2 else 1.0) * sin(2 * pi * corner / corners + turn),
            -(inner if corner % 2 else 1.0) * cos(2 * pi * corner / corners + turn),
        )
        for corner in range(corners)
    )


def _turned(shape: Shape) -> Shape:
    root = 2**-0.5
    return tuple((root * (x - y), root * (x + y)) for x, y in shape)


_PLUS = tuple(
    (x * sign_x, y * sign_y)
    for sign_x, sign_y, corners in (
        (1, -1, ((0.35, 1.0), (0.35, 0.35), (1.0, 0.35))),
        (1, 1, ((1.0, 0.35), (0.35, 0.35), (0.35, 1.0))),
        (-1, 1, ((0.35, 1.0), (0.35, 0.35), (1.0, 0.35))),
        (-1, -1, ((1.0, 0.35), (0.35, 0.35), (0.35, 1.0))),
    )
    for x, y in corners
)
# Contrast of at least 3 on either page, as tests/scaling/report/test_in_browser.py measures.
MARKS = (
    Mark((), "o", (), "#0b5fc0", "#6cb0ff"),
    Mark(_polygon(4, pi / 4), "s", (8, 4), "#b0400a", "#ffa05c"),
    Mark(_polygon(3), "^", (2, 3), "#0a7448", "#4fd39a"),
    Mark(_polygon(4), "D", (9, 3, 2, 3), "#a3238e", "#f08be0"),
    Mark(_polygon(3, pi), "v", (16, 4), "#6a4fc9", "#b7a3ff"),
    Mark(_PLUS, "P", (5, 5), "#805a00", "#e6c04d"),
    Mark(_turned(_PLUS), "X", (9, 3, 2, 3, 2, 3), "#00707f", "#4cc9dc"),
    Mark(_polygon(10, 0, 0.45), "*", (1, 4), "#c81e3c", "#ff8591"),
    Mark(_polygon(5), "p", (14, 3, 5, 3), "#4d5a68", "#b4c0cc"),
    Mark(_polygon(6), "h", (4, 2), "#557000", "#b5d14a"),
    Mark(_polygon(3, -pi / 2), "<", (12, 7), "#8c4a2f", "#d9a184"),
    Mark(_polygon(3, pi / 2), ">", (6, 2, 2, 2), "#c01f6e", "#ff8fc0"),
)


def look(number: int) -> Mark:
    """The look of the series ``number``, from 0. Any twelve that follow each other differ in all
    three; later ones take other dashes and markers with the same colours."""
    turn, place = divmod(number, len(MARKS))
    colour = MARKS[place]
    shape, dash = MARKS[(place + turn) % len(MARKS)], MARKS[(place + 2 * turn) % len(MARKS)]
    return Mark(shape.shape, shape.symbol, dash.dash, colour.light, colour.dark)
