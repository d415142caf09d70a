"""Credentials in a job of this machine: its document and the ledger keep what flags give."""

from __future__ import annotations

from dataclasses import replace

from launchers.core.credentials.search import problems_in_arguments, problems_in_environment
from launchers.core.model.problems import Problem
from launchers.core.source.script import JobSource
from launchers.core.spec.job import JobSpec

_KEPT = "no credential, since the job's document and the ledger keep it"
_STAYS = "none, where it is sent to a cloud"


def credential_problems(job: JobSpec, source: JobSource) -> list[Problem]:
    """As in the clouds, what stands in variables and arguments is refused; what stands in the
    source, of which nothing travels, is a warning."""
    allowed = frozenset(job.allow_values)
    given = [
        *problems_in_environment(job.environment, "--env ", allowed),
        *problems_in_arguments(job.arguments, "--", allowed),
    ]
    in_source = [
        problem
        for problem in source.bundle.problems
        if problem.rule == "source-credential" and not source.shared
    ]
    return [
        *(replace(problem, expected=_KEPT, fix=_fix(problem.fix)) for problem in given),
        *(replace(problem, severity="warning", expected=_STAYS) for problem in in_source),
    ]


def _fix(clouds: str) -> str:
    """This machine takes a secret from the shell or a file; the way to let it pass is the same."""
    passes = clouds.rpartition("; if it is no credential, ")[2]
    return f"Pass --secret NAME=env:NAME or NAME=file:PATH; if it is no credential, {passes}"
