"""The table of stacks in docs/compatibility.md, made of a run."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from tests.benchmarks.measure import machine
from tests.compat import page

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
        return page.line(*astuple(self))


def text(rows: Sequence[Row]) -> str:
    """The table with its date and machine, and how many succeeded."""
    ran = [row for row in rows if row.state != NOT_RUN]
    succeeded = sum(row.state == "succeeded" for row in ran)
    return "\n".join(
        [
            f"Measured on {datetime.date.today().isoformat()} on {machine()}.",
            "",
            *page.heading(*COLUMNS),
            *(row.line() for row in rows),
            "",
            f"Succeeded: {succeeded} of {len(ran)}.",
        ]
    )


def write(table: str, where: Path = page.DOCS) -> None:
    """Puts the table between the page's marks."""
    page.put(table, BEGIN, END, where)
