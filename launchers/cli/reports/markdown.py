"""The report for a comment on a pull request: a table of documents, one of problems."""

from __future__ import annotations

import re
from collections.abc import Sequence

from launchers.cli.checking.findings import Check, Checked, Finding, counts
from launchers.core.printable import printable

# GitHub takes 65,536 characters in a comment.
MOST_CHARACTERS = 60_000
_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")
_DOCUMENTS = ("document", "starts", "")
_PROBLEMS = ("", "place", "problem", "expected", "fix", "rule")
_SUPPRESSED = ("place", "problem", "rule", "reason")
_ORDER = {"error": 0, "unknown": 1, "warning": 2}


def report(check: Check) -> str:
    """The text; long ones say how many problems they leave out."""
    told = counts(
        check.count("error"), check.count("warning"), check.count("unknown"), check.suppressed
    )
    text = f"### launch check: {told}\n"
    text += _table(_DOCUMENTS, [_document(check, part) for part in check.parts])
    every = [found for part in check.parts for found in part.findings]
    counted = sorted(
        (found for found in every if not found.ignored),
        key=lambda found: _ORDER.get(found.problem.severity, 3),
    )
    if counted:
        text += _table(_PROBLEMS, [_problem(found) for found in counted])
    suppressed = [found for found in every if found.ignored]
    if suppressed:
        text += "\nSuppressed:\n" + _table(_SUPPRESSED, [_suppressed(one) for one in suppressed])
    return text


def _table(heads: Sequence[str], rows: list[str]) -> str:
    """A table behind an empty line: as many of the rows as have room in a third of the comment."""
    room = MOST_CHARACTERS // 3
    lines = ["", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for number, row in enumerate(rows):
        room -= len(row) + 1
        if room < 0:
            lines.append(f"| and {len(rows) - number} more |" + " |" * (len(heads) - 1))
            break
        lines.append(row)
    return "\n".join([*lines, ""])


def _document(check: Check, part: Checked) -> str:
    verdict = counts(len(part.of("error")), len(part.of("warning")))
    word = "fails" if check.part_fails(part) else "passes"
    where = _code(part.file) + (f" {_code(part.place)}" if part.place != "$" else "")
    kind = f" ({_text(part.kind)})" if part.kind else ""
    return f"| {where}{kind} | {_starts(part)} | {word}: {verdict} |"


def _starts(part: Checked) -> str:
    if not part.provider:
        return "no job"
    because = f": {_text(part.because)}" if part.because else ""
    return (str(part.started) if part.started is not None else "cannot tell") + because


def _problem(found: Finding) -> str:
    problem = found.problem
    return (
        f"| {problem.severity} | {_where(found)} | {_text(problem.found)} "
        f"| {_text(problem.expected)} | {_text(problem.fix)} | {_code(problem.rule)} |"
    )


def _suppressed(found: Finding) -> str:
    problem = found.problem
    return (
        f"| {_where(found)} | {_text(problem.found)} | {_code(problem.rule)} "
        f"| {_text(found.ignored)} |"
    )


def _where(found: Finding) -> str:
    return f"{_code(found.place)} {_code(found.problem.path)}"


def _code(text: str) -> str:
    """As code in a table's cell: the bar ends the cell there as well."""
    text = printable(text).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def _text(text: str) -> str:
    """As words: nothing in it is a mark, a mention or a reference."""
    marked = _MARKS.sub(r"\\\1", printable(text))
    return re.sub(r"([@#])(?=\w)", "\\1\u200b", marked)
