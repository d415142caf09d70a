"""What a study shows: the runs that are to be, and in the end its table, verdict and files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from launchers.cli.show.as_json import problem_as_json
from launchers.cli.show.output import answer, say, tell
from launchers.cli.show.table import table
from launchers.core.credentials.elsewhere import masked_arguments
from launchers.core.model.jobs import SUCCEEDED
from launchers.core.model.problems import EXIT_JOB_DID_NOT_SUCCEED, EXIT_OK
from launchers.core.provider import Provider
from launchers.scaling.costs import cost_at_most, hours_at_most, machine_hours
from launchers.scaling.planned import Planned, StudyPlan, batch_text, seed_text
from launchers.scaling.records import StudyFolder
from launchers.scaling.table import (
    COMPARED,
    MAY_GO,
    compared_text,
    failures,
    hours_text,
    plan_table,
    size_text,
    study_table,
)

if TYPE_CHECKING:
    from launchers.cli.answers.scaling import PlannedRun, ScalingAnswer, ScalingPlanAnswer


def show_plan(
    chosen: Provider,
    plan: StudyPlan,
    folder: Path,
    prices: Mapping[str, float],
    as_json: bool,
) -> int:
    """The dry run's answer."""
    hours, cost = hours_at_most(plan.runs), cost_at_most(plan.runs, prices)
    if as_json:
        found: ScalingPlanAnswer = {
            "name": plan.name,
            "folder": str(folder),
            "provider": chosen.name,
            "batch": plan.wanted.batch,
            "batch_text": batch_text(plan.wanted),
            "seed": seed_text(plan),
            "runs": [_planned(run) for run in plan.runs],
            "machine_hours_at_most": hours if chosen.charges_money else None,
            "cost_at_most": cost,
            "problems": [problem_as_json(one) for one in plan.problems],
        }
        answer(found)
        return EXIT_OK
    columns, rows = plan_table(plan.runs, chosen.charges_money)
    table(columns, rows, ("REPEAT", "SIZE", COMPARED))
    if chosen.charges_money:
        told = f"{cost:.2f} USD" if cost is not None else "cost not known without --price USD"
        say(f"at most {hours_text(hours)} machine-hours in all (--max-runtime); {told}")
    return EXIT_OK


def _planned(run: Planned) -> PlannedRun:
    plan = run.plan
    return {
        "name": plan.name,
        "world_size": plan.world_size,
        "instances": plan.instances,
        "processes": plan.processes,
        "gpus": plan.gpus,
        "variant": dict(run.size.variant),
        "repeat": run.repeat,
        "arguments": masked_arguments(plan.job.arguments),
        "machine": plan.machine_name or None,
        "machine_hours_at_most": machine_hours(plan) if plan.machine_name else None,
    }


def show_results(folder: StudyFolder, as_json: bool) -> int:
    """The table, what did not succeed, the verdict, and the files that hold all of it.

    Returns:
        0 where every run has succeeded, else 1.
    """
    from launchers.scaling.files import write_results
    from launchers.scaling.report.files import missing, write
    from launchers.scaling.report.verdict import verdict
    from launchers.scaling.rows import study_of

    assert folder.record is not None
    study = study_of(folder.record)
    sentences = verdict(study)
    value = write_results(study, sentences, folder.path, write(study, folder.path))
    for row, run in failures(study.rows):
        where = " ".join(filter(None, (size_text(row.size), compared_text(row.size))))
        logs = f" (launch logs {run.job})" if run.job else ""
        say(f"{run.state}  {where}, repeat {run.repeat}: {run.reason}{logs}")
    if as_json:
        answer(cast("ScalingAnswer", value))
    else:
        columns, cells = study_table(study.rows)
        table(columns, cells, MAY_GO)
        for sentence in sentences:
            tell(sentence)
    for path in value["files"]:
        say(f"  {path}")
    if lacking := missing():
        say(f"  {lacking}")
    succeeded = all(run.state == SUCCEEDED for run in folder.record.runs)
    return EXIT_OK if succeeded else EXIT_JOB_DID_NOT_SUCCEED
