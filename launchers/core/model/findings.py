"""What was looked at before any job: each prerequisite with what was found, what is needed, and
how to get from the one to the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from launchers.core.model.problems import Problem

# ``unknown``: it could not be looked at; ``skipped``: it was not, by the caller's wish or because
# what it needs is not there.
State = Literal["ok", "warning", "error", "unknown", "skipped"]


@dataclass(frozen=True)
class Finding:
    """One prerequisite.

    Attributes:
        name: What was looked at, in a word or two.
        found: What is there, short and without secrets.
        needed: What has to be there; empty where that is said by ``found``.
        fix: What to do about it; empty where nothing has to be done.
        rule: The rule's id where it is not well, which `launch explain` takes.
        run: The one command that mends it, to be copied; empty where there is none.
        exit_code: Of a submission that this would stop; 0 for its subject's usual one.
    """

    name: str
    state: State
    found: str
    needed: str = ""
    fix: str = ""
    rule: str = ""
    run: str = ""
    exit_code: int = 0


def well(name: str, found: str, needed: str = "") -> Finding:
    """It was looked at and is well."""
    return Finding(name, "ok", found, needed)


def skipped(name: str, why: str) -> Finding:
    """It was not looked at."""
    return Finding(name, "skipped", why)


def finding(problem: Problem, name: str = "", run: str = "", exit_code: int = 0) -> Finding:
    """A rule's problem as a finding of the same severity.

    Args:
        name: Instead of the problem's path.
    """
    return Finding(
        name or problem.path,
        problem.severity,
        problem.found,
        problem.expected,
        problem.fix,
        problem.rule if problem.severity != "ok" else "",
        run,
        exit_code,
    )
