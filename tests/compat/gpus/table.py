"""The table of GPUs in docs/compatibility.md: made of a run, and read back by the test beside."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.compat import page
from tests.compat.gpus.cases import Case
from tests.compat.strategies.runs import Found

BEGIN, END = "<!-- gpus table -->", "<!-- end of gpus table -->"
COLUMNS = ("script", "what it does", "expected", "found", "seconds", "what it says")

_SERIAL = re.compile(r"GPU-[0-9a-f-]{36}")


def text(
    found: Mapping[Case, Found | str], date: str, machine: str, versions: Sequence[str]
) -> str:
    """The table with its date and machine, and how many came out as they must.

    Args:
        found: What came of each case, or why it was not run.
        date: Of the run.
        machine: The GPU and its driver.
        versions: ``package version``.
    """
    ran = {case: one for case, one in found.items() if isinstance(one, Found)}
    left_out = {case: one for case, one in found.items() if isinstance(one, str)}
    return "\n".join(
        [
            f"Measured on {date} on {machine}: {', '.join(versions)}.",
            "",
            *page.heading(*COLUMNS),
            *(row(case, one) for case, one in ran.items()),
            "",
            counts(list(ran.items())),
            *(["", "Not run:", ""] if left_out else []),
            *(f"* `{case.name}`: {one}" for case, one in left_out.items()),
        ]
    )


def row(case: Case, one: Found) -> str:
    """One line of the table."""
    seconds, words = f"{one.seconds:.0f}", _SERIAL.sub("GPU-...", one.words)
    return page.line(f"`{case.name}`", case.form, case.expect, one.state, seconds, words)


def counts(ran: Sequence[tuple[Case, Found]]) -> str:
    """How many came out as they must."""
    right = sum(case.as_expected(one) for case, one in ran)
    return f"As expected: {right} of {len(ran)}."


def write(table: str, where: Path = page.DOCS) -> None:
    """Puts the table between the page's marks."""
    page.put(table, BEGIN, END, where)


def rows_of(where: Path = page.DOCS) -> list[list[str]]:
    """The cells of each script's line in the page."""
    return page.rows(BEGIN, END, where)
