"""What came of all runs: the table, the two numbers, and what nobody expected."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.benchmarks.measure import machine, print_table
from tests.compat import page
from tests.compat.jobs import Outcome
from tests.compat.manifest import VARIANTS, Script

# What the evidence says of ranks that trained apart. A job that failed for any other reason, a
# script's own error say, was not caught by it.
_CAUGHT = ("trained apart", "weights differ", "never joined", "never initialised")
BEGIN, END = "<!-- table -->", "<!-- end of table -->"
_COLUMNS = ("repository", "script", "commit", *VARIANTS, "note")
_EXCHANGED = "gradients exchanged, weights equal"
_KEY = """\
`succeeded` alone: `gradients exchanged, weights equal`. `trained apart`: `2 ranks trained apart:
no gradient and no weight went through Horovod`. `weights differ`: `gradients were exchanged, but
the weights differ at the end`, with the variable and by how much. `-`: there is nothing to take
out."""


@dataclass
class Results:
    """Script -> variant -> outcome, and the scripts that were left out, with the reason."""

    scripts: dict[str, Script] = field(default_factory=dict)
    outcomes: dict[str, dict[str, Outcome]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    _earlier: dict[str, Any] = field(default_factory=dict)

    def add(self, script: Script, variant: str, outcome: Outcome) -> None:
        """Takes down one run."""
        self.scripts[script.name] = script
        self.outcomes.setdefault(script.name, {})[variant] = outcome

    def recorded(self, record: Path | None, script: Script, variant: str) -> Outcome | None:
        """What an earlier run took down in ``record``, if it did."""
        if record is None or not record.exists():
            return None
        found = self._earlier.setdefault(str(record), json.loads(record.read_text()))
        line = found.get(script.name, {}).get(variant)
        return Outcome(line[0], line[1], line[2], "") if line else None

    def surprises(self) -> list[str]:
        """Lines on runs that ended otherwise than a reader of the script expects."""
        return [
            f"{name}, {variant}: {outcome.state}, expected {self.scripts[name].expect[variant]}: "
            f"{outcome.words}"
            for name, found in self.outcomes.items()
            for variant, outcome in found.items()
            if not as_expected(self.scripts[name].expect[variant], outcome)
        ]

    def count(self, expected: str) -> tuple[int, int]:
        """How many runs of which ``expected`` must come did so, and how many there were."""
        states = [
            as_expected(expected, outcome)
            for name, found in self.outcomes.items()
            for variant, outcome in found.items()
            if self.scripts[name].expect[variant] == expected
        ]
        return sum(states), len(states)

    def keep(self, record: Path) -> None:
        """Writes script -> variant -> state, words and seconds; what else is there stays."""
        kept = json.loads(record.read_text()) if record.exists() else {}
        for name, found in self.outcomes.items():
            for variant, outcome in found.items():
                line = [outcome.state, outcome.words, round(outcome.seconds, 1)]
                kept.setdefault(name, {})[variant] = line
        record.write_text(json.dumps(kept, indent=1))


def as_expected(expected: str, outcome: Outcome) -> bool:
    """Whether ``outcome`` is what must come, and for the right reason."""
    if outcome.state != expected:
        return False
    return expected == "succeeded" or any(words in outcome.words for words in _CAUGHT)


def print_results(results: Results) -> None:
    """The table as docs/compatibility.md has it, and the two numbers."""
    rows = [
        [
            f"{results.scripts[name].repository} @{results.scripts[name].commit[:7]}",
            f"{results.scripts[name].path.strip()}",
            *(_cell(found.get(variant)) for variant in VARIANTS),
            results.scripts[name].note,
        ]
        for name, found in results.outcomes.items()
    ]
    print_table(
        f"Public scripts under `launch local --instances 2 --processes 1`, on {machine()}",
        ["repository", "script", *VARIANTS, "note"],
        rows,
    )
    passed, good = results.count("succeeded")
    caught, apart = results.count("failed")
    print(f"\ngood ones passed: {passed} of {good}\napart ones caught: {caught} of {apart}")
    for name, reason in results.left_out.items():
        print(f"not run: {name}: {reason}")
    for line in results.surprises():
        print(f"not as expected: {line}")


def text(results: Results, versions: Sequence[str]) -> str:
    """The table of docs/compatibility.md with its date, key and the two numbers.

    Args:
        versions: ``package version``, of what the scripts ran on.
    """
    passed, good = results.count("succeeded")
    caught, apart = results.count("failed")
    today = datetime.date.today().isoformat()
    lines = [
        f"Measured on {today} on {machine()}: {', '.join(versions)}.",
        "",
        _KEY,
        "",
        *page.heading(*_COLUMNS),
        *(_row(results.scripts[name], found) for name, found in results.outcomes.items()),
        "",
        f"Good ones passed: {passed} of {good}. Apart ones caught: {caught} of {apart}.",
    ]
    return "\n".join(lines)


def _row(script: Script, found: dict[str, Outcome]) -> str:
    cells = (_short(found.get(variant)) for variant in VARIANTS)
    return page.line(
        script.repository, f"`{script.path.strip()}`", script.commit[:7], *cells, script.note
    )


def _short(outcome: Outcome | None) -> str:
    """As :func:`_cell`, the common reasons as the key has them."""
    words = _cell(outcome)
    known = next((each for each in _CAUGHT[:2] if outcome and each in outcome.words), "")
    return (
        f"failed: {known}"
        if known and words.startswith("failed")
        else words.removesuffix(f": {_EXCHANGED}")
    )


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "-"
    words = outcome.words.partition("; ")[2] if outcome.state == "succeeded" else outcome.words
    return f"{outcome.state}: {words}" if words else outcome.state
