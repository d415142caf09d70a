"""The table of stacks in docs/compatibility.md, made of a run."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from tests.benchmarks.measure import machine
from tests.places import ROOT

DOCS = ROOT / "docs" / "compatibility.md"
BEGIN, END = "<!-- stacks table -->", "<!-- end of stacks table -->"
COLUMNS = ("TensorFlow", "Python", "training", "found", "what it says")
NOT_RUN = "not run"


@dataclass(frozen=True)
class Row:
    """What came of one training on one stack."""

    tensorflow: str
    python: str
    training: str
    state: str
    words: str

    def line(self) -> str:
        """In Markdown."""
        cells = (" ".join(cell.split()).replace("|", "/")[:240] for cell in astuple(self))
        return "| " + " | ".join(cells) + " |"


def text(rows: Sequence[Row]) -> str:
    """The table with its date and machine, and how many succeeded."""
    ran = [row for row in rows if row.state != NOT_RUN]
    succeeded = sum(row.state == "succeeded" for row in ran)
    return "\n".join(
        [
            f"Measured on {datetime.date.today().isoformat()} on {machine()}.",
            "",
            "| " + " | ".join(COLUMNS) + " |",
            "|" + "---|" * len(COLUMNS),
            *(row.line() for row in rows),
            "",
            f"Succeeded: {succeeded} of {len(ran)}.",
        ]
    )


def write(table: str, page: Path = DOCS) -> None:
    """Puts the table between the page's marks."""
    before, _, rest = page.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")
