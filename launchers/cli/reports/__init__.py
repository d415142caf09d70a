"""The forms of what `launch check` found: for a person, a program, a pull request."""

from __future__ import annotations

import importlib
from typing import Final

from launchers.cli.checking.findings import Check

# name -> its module, whose `report(check)` gives the text, ending with a newline
REPORTS: Final = {
    "text": "text",
    "json": "as_json",
    "sarif": "sarif",
    "junit": "junit",
    "markdown": "markdown",
}


def report(name: str, check: Check) -> str:
    """One of :data:`REPORTS` as text, ending with a newline."""
    module = importlib.import_module(f"launchers.cli.reports.{REPORTS[name]}")
    text: str = module.report(check)
    return text
