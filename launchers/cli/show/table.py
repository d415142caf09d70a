"""Tables on stdout: plain columns in a pipe; on a terminal no line is wider than it, and no name
is cut: whole columns give way, then a long text wraps, and a name may take a line of its own."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from launchers.cli.show.last_line import give_way
from launchers.cli.show.output import say, styled, terminal_width
from launchers.core.printable import printable

_GAP = "  "
# A text that wraps is worth its column from this width on, and ends after so many lines.
_LEAST_PROSE, _PROSE_LINES = 20, 2


@dataclass(frozen=True)
class Fitted:
    """A table as it is shown.

    Attributes:
        heading: The line, or the lines, of the columns' names.
        lines: The rows.
        left_out: The columns for which there was no room, in the table's order.
    """

    heading: tuple[str, ...]
    lines: tuple[str, ...]
    left_out: tuple[str, ...]


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    may_go: Sequence[str] = (),
    prose: str = "",
) -> None:
    """Print a table; what a terminal has no room for is named on stderr.

    Args:
        may_go: The columns that may give way, the first one first. One that says which row it is
            never does.
        prose: The column whose text may take two lines and end there with an ellipsis.
    """
    give_way()
    width = terminal_width(sys.stdout)
    shown = fitted(columns, rows, width, may_go, prose)
    for line in shown.heading:
        print(styled(line, "bold", sys.stdout))
    for line in shown.lines:
        print(line)
    sys.stdout.flush()
    if shown.left_out:
        more = "a wider terminal, a pipe or --json shows all"
        say(styled(f"not shown at {width} columns: {', '.join(shown.left_out)}; {more}", "dim"))


def fitted(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    may_go: Sequence[str] = (),
    prose: str = "",
) -> Fitted:
    """The table within ``width`` columns of a terminal, or whole where that is None.

    Args:
        may_go, prose: As for :func:`table`.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = {
        name: max(map(len, (name, *(row[index] for row in cells))))
        for index, name in enumerate(columns)
    }
    if width is None:
        return Fitted(*_drawn(columns, cells, widths), left_out=())
    least = {
        name: min(size, _LEAST_PROSE) if name == prose else size for name, size in widths.items()
    }
    left_out = _left_out(columns, least, width, may_go)
    kept = [name for name in columns if name not in left_out]
    at = [columns.index(name) for name in kept]
    cells = [[row[index] for index in at] for row in cells]
    if _total(kept, least) > width:
        return Fitted(*_names_alone(kept, cells, widths), left_out=left_out)
    if prose in kept:
        others = _total(kept, {**widths, prose: 0})
        widths[prose] = min(widths[prose], width - others)
        cells = [line for row in cells for line in _wrapped(row, kept.index(prose), widths[prose])]
    return Fitted(*_drawn(kept, cells, widths), left_out=left_out)


def _left_out(
    columns: Sequence[str], least: dict[str, int], width: int, may_go: Sequence[str]
) -> tuple[str, ...]:
    """Those of ``may_go`` for which there is no room; one for which the next made room is back."""
    gone: list[str] = []
    for name in may_go:
        if _total([one for one in columns if one not in gone], least) > width:
            gone.append(name)
    for name in gone[-2::-1]:
        if _total([one for one in columns if one == name or one not in gone], least) <= width:
            gone.remove(name)
    return tuple(name for name in columns if name in gone)


def _total(names: Sequence[str], widths: dict[str, int]) -> int:
    return sum(widths[name] for name in names) + len(_GAP) * (len(names) - 1)


def _wrapped(row: Sequence[str], at: int, width: int) -> list[list[str]]:
    """The row, and the lines that its text goes on with."""
    lines = textwrap.wrap(
        row[at], width, max_lines=_PROSE_LINES, placeholder=" …", break_on_hyphens=False
    ) or [""]
    first = [*row[:at], lines[0], *row[at + 1 :]]
    return [first, *([""] * at + [line] + [""] * (len(row) - at - 1) for line in lines[1:])]


def _drawn(
    names: Sequence[str], rows: Sequence[Sequence[str]], widths: dict[str, int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    def line(cells: Sequence[str]) -> str:
        padded = (cell.ljust(widths[name]) for name, cell in zip(names, cells, strict=True))
        return _GAP.join(padded).rstrip()

    return (line(names),), tuple(map(line, rows))


def _names_alone(
    names: Sequence[str], rows: Sequence[Sequence[str]], widths: dict[str, int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Each row's first cell on a line of its own, the others below it."""
    (heading,), rest = _drawn(names[1:], [row[1:] for row in rows], widths)
    lines = [[row[0], f"{_GAP}{text}"] for row, text in zip(rows, rest, strict=True)]
    return (names[0], f"{_GAP}{heading}"), tuple(one for pair in lines for one in pair)
