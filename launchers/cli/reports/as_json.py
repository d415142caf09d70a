"""The report for a program."""

from __future__ import annotations

from typing import Any

from launchers.cli.checking.findings import Check, Checked
from launchers.core.printable import printable_json


def report(check: Check) -> str:
    """An object with ``documents``, one a job or an unreadable file. Where that is one, its keys
    stand at the top as well."""
    documents = [_of(part, check) for part in check.parts]
    answer: dict[str, Any] = {
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
    if len(documents) == 1:
        answer = {**documents[0], **answer}
    return printable_json(answer, indent=2) + "\n"


def _of(part: Checked, check: Check) -> dict[str, Any]:
    return {
        "file": part.file,
        "place": part.place,
        "kind": part.kind,
        "provider": part.provider,
        "world_size": part.started,
        "because": part.because,
        "ok": not check.part_fails(part),
        "problems": [one.as_dict() for one in part.counted],
        "suppressed": [one.as_dict() for one in part.suppressed],
    }
