"""The Python of a Jupyter notebook, without what only a notebook can run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

# Lines for the notebook itself: %pip install, !ls, ?help.
_MAGIC = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)
# Cells of another language, but for those that only measure or hide what runs in them.
_CELL_MAGIC = re.compile(r"\s*%%(?!time\b|timeit\b|capture\b|prun\b)")


class Notebook(NamedTuple):
    """The code of a notebook.

    Attributes:
        code: Its cells, one after another.
        first_lines: Of each cell in ``code``, from 1, with the cell's number among all cells.
    """

    code: bytes
    first_lines: tuple[tuple[int, int], ...]

    def cell_of(self, line: int) -> int:
        """The number of the cell, from 1, in which a line of the code stands."""
        return max((cell for first, cell in self.first_lines if first <= line), default=1)


def read_notebook(content: bytes) -> Notebook | None:
    """The code of a notebook's file; None where it is none that can be read."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    lines: list[str] = []
    first_lines = []
    for number, cell in enumerate(_cells(document), 1):
        code = _code(cell)
        if code:
            first_lines.append((len(lines) + 1, number))
            lines += code.split("\n")
    text = "\n".join(lines).encode("utf-8", "replace")
    return Notebook(text, tuple(first_lines))


def _cells(document: Any) -> Iterator[dict[str, Any]]:
    """Of nbformat 4 as they stand; of 3 those of its worksheets."""
    if not isinstance(document, dict):
        return
    sheets = document.get("worksheets")
    holders = [document, *(sheets if isinstance(sheets, list) else ())]
    for holder in holders:
        cells = holder.get("cells") if isinstance(holder, dict) else None
        for cell in cells if isinstance(cells, list) else ():
            if isinstance(cell, dict):
                yield cell


def _code(cell: dict[str, Any]) -> str:
    if cell.get("cell_type") != "code":
        return ""
    source = cell.get("source", cell.get("input", ""))
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    return "" if _CELL_MAGIC.match(text) else _MAGIC.sub(r"\1pass", text)
