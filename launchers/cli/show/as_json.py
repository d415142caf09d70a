"""Problems, jobs and plans as ``--json`` has them; what their fields mean stands in answers/."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from launchers.core.model.jobs import JobHandle, JobStatus
from launchers.core.model.problems import Problem
from launchers.core.times import iso_time

if TYPE_CHECKING:
    from launchers.cli.answers.jobs import FailureOfRank, JobAnswer
    from launchers.cli.answers.plans import DryRun, PlanBundle
    from launchers.cli.answers.problems import ErrorAnswer, ProblemAnswer
    from launchers.core.pipeline import Prepared
    from launchers.core.provider import Provider


def problem_as_json(problem: Problem) -> ProblemAnswer:
    """One problem's fields; no credential stands in them."""
    from launchers.core.credentials.elsewhere import without_credentials

    return {
        "rule": problem.rule,
        "severity": problem.severity,
        "path": without_credentials(problem.path),
        "found": without_credentials(problem.found),
        "expected": without_credentials(problem.expected),
        "fix": without_credentials(problem.fix),
    }


def value_as_json(value: Any) -> Any:
    """A value of somebody's file; no credential stands in its texts."""
    from launchers.core.credentials.elsewhere import without_credentials

    if isinstance(value, str):
        return without_credentials(value)
    if isinstance(value, Mapping):
        return {str(key): value_as_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [value_as_json(inner) for inner in value]
    return value


def error_answer(exit_code: int, problems: Iterable[Problem]) -> ErrorAnswer:
    """What is printed in place of an answer; each problem once."""
    told = [problem_as_json(one) for one in dict.fromkeys(problems)]
    return {"error": {"exit_code": exit_code, "problems": told}}


def job_as_json(handle: JobHandle, status: JobStatus) -> JobAnswer:
    """One job. Of what its provider says besides, the fields that the shape has."""
    from launchers.cli.answers.jobs import JobAnswer
    from launchers.core.records.ledger import Ledger

    entry = Ledger().get(handle.provider, handle.name)
    details = {**status.details}
    if "failure" in details:
        details["failure"] = failure_as_json(details["failure"])
    found = {key: details[key] for key in details if key in JobAnswer.__optional_keys__}
    return cast(
        "JobAnswer",
        {
            "name": handle.name,
            "provider": handle.provider,
            "state": status.state,
            "reason": status.reason,
            "proof": status.proof,
            "world_size": details.get("world_size") or (entry.world_size if entry else None),
            "created": iso_time(details.get("created") or (entry.created if entry else None)),
            "started": iso_time(details.get("started")),
            "ended": iso_time(details.get("ended") or (entry.ended if entry else None)),
            **found,
        },
    )


def failure_as_json(failure: Mapping[str, Any] | None) -> FailureOfRank | None:
    """The first failure's fields that the shape has: it comes from the job's output."""
    from launchers.cli.answers.jobs import FailureOfRank

    known = FailureOfRank.__optional_keys__
    if failure is None:
        return None
    return cast("FailureOfRank", {key: failure[key] for key in failure if key in known})


def dry_run_as_json(
    provider: Provider, prepared: Prepared, read_from: str, problems: Iterable[Problem]
) -> DryRun:
    """The plan as it is shown, and the document.

    Args:
        problems: All that was said of it.
    """
    plan = prepared.plan
    return {
        "plan": {
            "name": plan.name,
            "provider": provider.name,
            "read_from": read_from,
            "world_size": plan.world_size,
            "instances": plan.instances,
            "processes": plan.processes,
            "gpus": plan.gpus,
            "strategy": plan.strategy.name,
            "rows": [
                {"label": row.label, "text": row.text, "origin": row.origin} for row in plan.rows
            ],
            "placeholders": [
                {
                    "path": one.path,
                    "value": one.value,
                    "fill": one.fill,
                    "at_sending": one.at_sending,
                }
                for one in plan.placeholders
            ],
            "problems": [problem_as_json(one) for one in dict.fromkeys(problems)],
            "bundle": _bundle(prepared) if provider.definer.sends_source else None,
        },
        "document": dict(prepared.definition.document),
    }


def _bundle(prepared: Prepared) -> PlanBundle:
    bundle = prepared.bundle
    return {
        "files": len(bundle.files),
        "bytes": bundle.size,
        "sha256": bundle.sha256,
        "left_out": list(bundle.left_out_summary()),
    }
