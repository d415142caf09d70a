"""The forms of what `launch check` found: for a person, a program, a pull request."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Final

from launchers.cli.checking.findings import Check, Checked
from launchers.core.credentials.elsewhere import without_credentials as masked
from launchers.core.model.problems import Problem

# name -> its module, whose `report(check)` gives the text, ending with a newline
REPORTS: Final = {
    "text": "text",
    "json": "as_json",
    "sarif": "sarif",
    "junit": "junit",
    "markdown": "markdown",
}


def report(name: str, check: Check) -> str:
    """One of :data:`REPORTS` as text, ending with a newline; no credential stands in it."""
    module = importlib.import_module(f"launchers.cli.reports.{REPORTS[name]}")
    text: str = module.report(without_credentials(check))
    return text


def without_credentials(check: Check) -> Check:
    """``check`` with a mask for each part of a text that has a credential's shape by itself: what
    was found in a document may be one, or hold one."""
    return replace(check, parts=[_part(part) for part in check.parts])


def _part(part: Checked) -> Checked:
    return replace(
        part,
        findings=tuple(replace(one, problem=_problem(one.problem)) for one in part.findings),
        place=masked(part.place),
        kind=masked(part.kind),
        because=masked(part.because),
        answer=masked(part.answer),
    )


def _problem(problem: Problem) -> Problem:
    return replace(
        problem,
        path=masked(problem.path),
        found=masked(problem.found),
        expected=masked(problem.expected),
        fix=masked(problem.fix),
    )
