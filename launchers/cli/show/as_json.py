"""Problems, jobs and plans as ``--json`` has them; what their fields mean stands in answers/."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from launchers.core.model.jobs import JobHandle, JobStatus
from launchers.core.model.problems import Problem
from launchers.core.printable import printable
from launchers.core.times import iso_time

if TYPE_CHECKING:
    from launchers.cli.answers.jobs import FailureOfRank, JobAnswer, TrainingAnswer
    from launchers.cli.answers.plans import DryRun, PlanBundle
    from launchers.cli.answers.problems import ErrorAnswer, ProblemAnswer
    from launchers.core.output.training_progress.state import Progress
    from launchers.core.pipeline import Prepared
    from launchers.core.provider import Provider

# Of a training's progress, what is a number where it is known.
_NUMBERS = ("epoch", "epochs", "step", "steps", "rate", "seconds")


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


def job_as_json(
    handle: JobHandle,
    status: JobStatus,
    progress: Progress | None = None,
    now: float | None = None,
) -> JobAnswer:
    """One job. Of what its provider says besides, the fields that the shape has.

    Args:
        progress: Of its training, where it was asked for.
        now: See :func:`training_as_json`.
    """
    from launchers.cli.answers.jobs import JobAnswer
    from launchers.core.records.ledger import Ledger

    entry = Ledger().get(handle.provider, handle.name)
    # What the ledger keeps of an ended job's training is told where it is asked for alone.
    details = {name: value for name, value in status.details.items() if name != "progress"}
    if progress is not None:
        details["progress"] = training_as_json(progress, now)
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


def training_as_json(progress: Progress, now: float | None = None) -> TrainingAnswer:
    """How far a training is.

    Args:
        now: In seconds since the epoch, for a job that has not ended: the time left is of then.
    """
    return {
        "epoch": progress.epoch,
        "epochs": progress.epochs,
        "step": progress.step,
        "steps": progress.steps,
        "counted": progress.counted,
        "of": progress.of,
        "rate": progress.rate,
        "unit": progress.unit,
        "metrics": {
            printable(name): value if math.isfinite(value) else str(value)
            for name, value in progress.metrics.items()
        },
        "seconds": progress.seconds,
        "left_seconds": _rounded(progress.left_at(now)) if now is not None else None,
        "epoch_left_seconds": _rounded(progress.epoch_left_at(now)) if now is not None else None,
        "at": iso_time(progress.at),
    }


def training_of_json(told: Any) -> Progress | None:
    """The same back, of a job that has ended; None where there is none, or a damaged one."""
    from launchers.core.output.training_progress.state import Progress

    try:
        names = ("epoch", "epochs", "step", "steps", "counted", "of", "rate", "unit", "seconds")
        if any(not isinstance(told[name], int | float | None) for name in _NUMBERS):
            return None
        metrics = {str(name): float(value) for name, value in told["metrics"].items()}
        at = datetime.fromisoformat(told["at"][:-1] + "+00:00").timestamp() if told["at"] else None
        return Progress(**{name: told[name] for name in names}, metrics=metrics, at=at)
    except (TypeError, KeyError, ValueError, AttributeError):
        return None


def _rounded(seconds: float | None) -> float | None:
    return round(seconds, 1) if seconds is not None else None


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
