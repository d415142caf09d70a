"""The table in docs/compatibility.md: made of a run, and read back by the test beside."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks.measure import machine
from tests.compat import page
from tests.compat.strategies.cases import Case
from tests.compat.strategies.runs import Found

BEGIN, END = "<!-- strategies table -->", "<!-- end of strategies table -->"
COLUMNS = ("script", "strategy", "ranks", "after", "expected", "found", "what it says")


def text(
    found: Mapping[Case, Found | str], versions: Sequence[str], not_run: Sequence[tuple[str, str]]
) -> str:
    """The table with its date, versions, the two numbers, and what was not run.

    Args:
        found: What came of each case, or why it was not run.
        versions: ``package version``, of all stacks that ran.
        not_run: Form and reason.
    """
    ran = {case: one for case, one in found.items() if isinstance(one, Found)}
    lines = [
        f"Measured on {datetime.date.today().isoformat()} on {machine()}: {', '.join(versions)}.",
        "",
        *page.heading(*COLUMNS),
        *(row(case, one) for case, one in ran.items()),
        "",
        counts(list(ran.items())),
        "",
        "Not run:",
        "",
        *(f"* `{case.name}`: {one}" for case, one in found.items() if isinstance(one, str)),
        *(f"* {form}: {why}" for form, why in not_run),
    ]
    return "\n".join(lines)


def row(case: Case, one: Found) -> str:
    """One line of the table."""
    ranks = f"2 x {case.processes}"
    name = f"`{case.name}`"
    return page.line(name, case.strategy, ranks, case.form, case.expect, one.state, one.words)


def counts(ran: Sequence[tuple[Case, Found]]) -> str:
    """The two numbers."""
    said = []
    for expected, words in (("succeeded", "good ones passed"), ("refused", "bad ones refused")):
        states = [one.state == expected for case, one in ran if case.expect == expected]
        said.append(f"{words}: {sum(states)} of {len(states)}")
    return f"{said[0].capitalize()}; {said[1]}."


def write(table: str, where: Path = page.DOCS) -> None:
    """Puts the table between the page's marks."""
    page.put(table, BEGIN, END, where)


def rows_of(where: Path = page.DOCS) -> list[list[str]]:
    """The cells of each script's line in the page."""
    return page.rows(BEGIN, END, where)
