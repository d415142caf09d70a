"""The tables of docs/compatibility.md, each between two marks of its own."""

from __future__ import annotations

from pathlib import Path

from tests.places import ROOT

DOCS = ROOT / "docs" / "compatibility.md"


def put(table: str, begin: str, end: str, page: Path = DOCS) -> None:
    """Puts the table between two marks of the page, in place of what is there."""
    before, _, rest = page.read_text().partition(begin)
    after = rest.partition(end)[2]
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}")


def rows(begin: str, end: str, page: Path = DOCS) -> list[list[str]]:
    """The cells of each line of the table whose first one is a name in backticks."""
    part = page.read_text().partition(begin)[2].partition(end)[0]
    lines = [line for line in part.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def line(*cells: str) -> str:
    """A row in Markdown; long cells are cut."""
    short = (" ".join(cell.split()).replace("|", "/")[:240] for cell in cells)
    return "| " + " | ".join(short) + " |"


def heading(*columns: str) -> list[str]:
    """The two lines above the rows."""
    return ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
