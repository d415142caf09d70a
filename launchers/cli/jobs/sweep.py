"""Many jobs of one file: all checked first, then so many at once, and a table of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from launchers.cli.catalogue import RULES
from launchers.cli.jobs.beside import COLUMNS, MAY_GO, Beside, Row
from launchers.cli.jobs.submission import MOST_AT_ONCE
from launchers.cli.options import Given
from launchers.cli.show.as_json import dry_run_as_json, problem_as_json
from launchers.cli.show.output import answer, print_documents, say, say_plan, say_problems
from launchers.cli.show.progress import reading_shown
from launchers.cli.show.table import table
from launchers.core import pipeline
from launchers.core.model.jobs import SUCCEEDED
from launchers.core.model.problems import (
    EXIT_BAD_REQUEST,
    EXIT_INTERRUPTED,
    EXIT_JOB_DID_NOT_SUCCEED,
    EXIT_OK,
    LaunchError,
    Problem,
    errors,
)
from launchers.core.planning.plan import counted
from launchers.core.provider import Provider
from launchers.core.source.script import JobSource

if TYPE_CHECKING:
    from launchers.cli.answers.jobs import SweepJob


def run_sweep(chosen: Provider, given: Given, values: Mapping[str, Any], mode: str) -> int:
    """Every job of the sweep; nothing is sent unless all of them are right.

    Returns:
        0 where every job succeeded and was proven.
    """
    if not chosen.charges_money or mode == "docker":
        raise LaunchError(_refused(chosen, mode))
    at_once = min(len(given.sweep), values["max_parallel"] or MOST_AT_ONCE)
    ignored, again = tuple(values.get("ignore_sdk") or ()), bool(values.get("again"))
    online = mode == "run"
    rows: list[Row] = []
    sources: dict[tuple[object, ...], JobSource] = {}
    for job in given.sweep:
        key = (job.script, job.module, job.source, job.requirements, job.allow_values)
        source = sources.get(key)
        prepared = pipeline.prepare(chosen, job, again, online, ignored, source, told=reading_shown)
        sources[key] = prepared.plan.source
        rows.append(Row(prepared))
    problems = [problem for row in rows for problem in row.prepared.problems]
    _same_name(rows, problems)
    first_of = f"{given.read_from}, the first of {len(rows)}"
    say_plan(rows[0].prepared.plan, chosen.title, first_of, sends=online)
    say_problems(dict.fromkeys(problems))
    if errors(problems):
        return EXIT_BAD_REQUEST
    if mode == "print":
        _print(chosen, given, rows, values)
        return EXIT_OK
    say(f"{counted(len(rows), 'job')}, at most {at_once} at once")
    return _run_all(chosen, rows, at_once, values)


def _print(chosen: Provider, given: Given, rows: list[Row], values: Mapping[str, Any]) -> None:
    """The dry run's answer: one value, with all jobs."""
    if not values["as_json"]:
        print_documents([row.prepared.definition for row in rows], values["form"])
        return
    answer(
        [
            dry_run_as_json(chosen, one, given.read_from, [*given.warnings, *one.problems])
            for one in (row.prepared for row in rows)
        ]
    )


def _run_all(chosen: Provider, rows: list[Row], at_once: int, values: Mapping[str, Any]) -> int:
    beside = Beside(
        chosen,
        at_once,
        ignored=tuple(values.get("ignore_sdk") or ()),
        detach=bool(values["detach"]),
        cancel=bool(values.get("cancel_on_interrupt")),
    )
    interrupted = beside.run(rows)
    if values["as_json"]:
        answer([_as_json(row) for row in rows])
    elif not interrupted:
        table(COLUMNS, [row.cells() for row in rows], MAY_GO, prose=COLUMNS[-1])
    if interrupted:
        return EXIT_INTERRUPTED
    if values["detach"]:
        return EXIT_OK if all(row.handle for row in rows) else EXIT_JOB_DID_NOT_SUCCEED
    succeeded = all(row.state == SUCCEEDED for row in rows)
    return EXIT_OK if succeeded else EXIT_JOB_DID_NOT_SUCCEED


def _as_json(row: Row) -> SweepJob:
    """A row for a program."""
    from launchers.core.credentials.elsewhere import masked_arguments

    definition = row.prepared.definition
    return {
        "name": definition.name,
        "provider": definition.provider,
        "state": row.state,
        "text": row.text,
        "world_size": definition.world_size,
        "arguments": masked_arguments(row.prepared.job.arguments),
        "problems": [problem_as_json(one) for one in row.problems],
    }


def _same_name(rows: list[Row], problems: list[Problem]) -> None:
    """Entries that are written differently may still be the same job."""
    seen: dict[str, int] = {}
    for index, row in enumerate(rows):
        before = seen.setdefault(row.prepared.definition.name, index)
        if before != index:
            problems.append(
                RULES["sweep-twice"].at(
                    f"sweep[{index}]", f"the same job as [{before}]", fix="remove one of the two"
                )
            )


def _refused(chosen: Provider, mode: str) -> Problem:
    if mode == "docker":
        return RULES["sweep-rehearsal"].at("--dry-run=docker", "a sweep")
    found = f"launch {chosen.name}"
    return RULES["sweep-local"].at("sweep", found)
