"""What `launch doctor` found."""

from __future__ import annotations

from typing import Annotated, TypedDict

from launchers.core.model.findings import State


class FindingAnswer(TypedDict):
    """One prerequisite. No credential stands in it."""

    subject: Annotated[str, "`launch`, `local`, `spark`, `docker`, `sagemaker` or `vertex`."]
    name: Annotated[str, "What was looked at."]
    state: Annotated[
        State,
        "`error` stops a job; `unknown` could not be looked at, `skipped` was not.",
    ]
    found: Annotated[str, "What is there."]
    needed: Annotated[str, "What has to be there; empty where `found` says it all."]
    fix: Annotated[str, "What to do about it; empty where nothing has to be done."]
    run: Annotated[str, "The one command that mends it; empty where there is none."]
    rule: Annotated[str, "The rule that is broken; `launch explain RULE` says more."]


class DoctorAnswer(TypedDict):
    """All prerequisites that were looked at."""

    exit_code: Annotated[int, "The command's: 0 where all is there that jobs need."]
    findings: Annotated[list[FindingAnswer], "In the order of the subjects."]
    bundle: Annotated[str | None, "The file of `--bundle`; null without it."]
