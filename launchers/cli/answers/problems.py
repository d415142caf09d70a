"""What is wrong, as ``--json`` says it."""

from __future__ import annotations

from typing import Annotated, TypedDict

from launchers.cli.answers.shape import Format
from launchers.core.model.problems import Severity


class ProblemAnswer(TypedDict):
    """One thing that is wrong. No credential stands in it."""

    rule: Annotated[
        str, Format(pattern="^[a-z0-9-]+$"), "The rule's id; `launch explain RULE` says more."
    ]
    severity: Annotated[
        Severity, "`error` stops the command; `unknown` is a check that could not be made."
    ]
    path: Annotated[str, "Where: a flag, a file and a key of it, a place in the document."]
    found: Annotated[str, "What was found there."]
    expected: Annotated[str, "What is allowed there."]
    fix: Annotated[str, "What to write or run instead; empty where `expected` says it all."]


class FailureAnswer(TypedDict):
    """Why a command has no answer."""

    exit_code: Annotated[int, "The command's; docs/exit-codes.md has them all."]
    problems: Annotated[list[ProblemAnswer], "What stopped it, and what was warned of before."]


class ErrorAnswer(TypedDict):
    """What a command prints in place of its answer where something is wrong."""

    error: FailureAnswer
