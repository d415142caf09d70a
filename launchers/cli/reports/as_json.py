"""The report for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from launchers.cli.checking.findings import Check, Checked, Finding
from launchers.cli.show.as_json import problem_as_json
from launchers.core.printable import printable_json

if TYPE_CHECKING:
    from launchers.cli.answers.checks import (
        CheckAnswer,
        CheckedDocument,
        ManyChecked,
        PlacedProblem,
    )


def report(check: Check) -> str:
    """The answer as text, ending with a newline."""
    return printable_json(answer_of(check), indent=2) + "\n"


def answer_of(check: Check) -> CheckAnswer:
    """An object with ``documents``, one a job or an unreadable file. Where that is one, its keys
    stand at the top as well."""
    documents = [_of(part, check) for part in check.parts]
    answer: ManyChecked = {
        "ok": not check.failed,
        "strict": check.strict,
        "counts": {
            "errors": check.count("error"),
            "warnings": check.count("warning"),
            "unknown": check.count("unknown"),
            "suppressed": check.suppressed,
        },
        "documents": documents,
    }
    return {**documents[0], **answer} if len(documents) == 1 else answer


def _of(part: Checked, check: Check) -> CheckedDocument:
    return {
        "file": part.file,
        "place": part.place,
        "kind": part.kind,
        "provider": part.provider,
        "world_size": part.started,
        "because": part.because,
        "ok": not check.part_fails(part),
        "problems": [_problem(one) for one in part.counted],
        "suppressed": [_problem(one) for one in part.suppressed],
    }


def _problem(found: Finding) -> PlacedProblem:
    place = {"line": found.line or None, "column": found.column or None}
    reason = {"reason": found.ignored} if found.ignored else {}
    return cast("PlacedProblem", {**problem_as_json(found.problem), **place, **reason})
