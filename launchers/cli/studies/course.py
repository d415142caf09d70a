"""The course of one `launch scaling`: plan, consent, the runs that are still to do, the results."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from launchers.cli.jobs.submission import MOST_AT_ONCE
from launchers.cli.options import given_job
from launchers.cli.show.output import say, say_interrupted, say_plan, say_problems, styled
from launchers.cli.show.progress import reading_shown
from launchers.cli.studies.consent import ask
from launchers.cli.studies.flags import SIZES, list_text, wanted_of
from launchers.cli.studies.results import show_plan, show_results
from launchers.cli.words import Command
from launchers.core.credentials.elsewhere import masked_arguments
from launchers.core.model.problems import EXIT_INTERRUPTED, LaunchError
from launchers.core.planning.plan import counted
from launchers.core.provider import Provider
from launchers.core.source.script import read_source
from launchers.core.times import iso_time
from launchers.scaling import running
from launchers.scaling.contents import changed_files, digests_of, source_changes
from launchers.scaling.costs import prices_of
from launchers.scaling.identity import source_digest
from launchers.scaling.plan import no_sweep, plan_study
from launchers.scaling.planned import StudyPlan, batch_text, counted_runs, seed_text
from launchers.scaling.records import Record, StudyFolder, differences, other_sizes, place_of
from launchers.scaling.results import Run

# What changes nothing of a study, and stands in no command line of one.
_PASSING = ("--yes", "--again", "--json", "--dry-run")


def run_study(
    chosen: Provider,
    values: Mapping[str, Any],
    arguments: tuple[str, ...] | None,
    words: Sequence[str],
) -> int:
    """Everything that a command line asks for.

    Returns:
        0 where every run of the study has succeeded, 1 where not, 130 where interrupted.
    """
    flags = [flag for item in click.get_current_context().command.params for flag in item.opts]
    command = Command(f"scaling {chosen.name}", _typed(values))
    nothing = dict.fromkeys(SIZES, ())
    given = given_job(chosen, {**values, **nothing}, arguments, flags, command)
    if given.sweep:
        raise LaunchError(no_sweep(len(given.sweep)))
    say_problems(given.warnings)
    source = read_source(given.job, reading_shown)
    plan = plan_study(chosen, given.job, wanted_of(values), source)
    prices = prices_of(plan, tuple(filter(None, values.get("prices") or ())))
    travels = source.folder if chosen.definer.sends_source else None
    folder = StudyFolder(place_of(plan.name, values["folder"], travels))
    folder.check()
    _say_plan(chosen, plan, folder.path, given.read_from, sends=not values["dry_run"])
    if values["dry_run"]:
        return show_plan(chosen, plan, folder.path, prices, values["as_json"])
    with folder.locked():
        record = folder.read() or _begun(chosen, plan, words)
        _refuse_another(chosen, record, plan)
        todo = running.to_do(record.runs, values["again"])
        _say_what_is_done(record.runs, todo, values["again"])
        if unsent := _unsent(chosen, todo):
            ask(chosen, plan, unsent, prices, values["yes"])
        folder.write(record)
        if _run(chosen, plan, folder, todo, prices, values):
            _say_interrupted(folder)
            return EXIT_INTERRUPTED
        return show_results(folder, values["as_json"])


def _refuse_another(chosen: Provider, record: Record, plan: StudyPlan) -> None:
    """Stop where the study that lies there is another one."""
    wrong = differences(record, plan.settings)
    if not wrong:
        travels = chosen.definer.sends_source
        changed = changed_files(record, plan.source, travels)
        wrong = source_changes(record, plan.source, changed, travels)
    if wrong := wrong or other_sizes(record, (run.size for run in plan.runs)):
        raise LaunchError(wrong)


def _run(
    chosen: Provider,
    plan: StudyPlan,
    folder: StudyFolder,
    todo: Sequence[Run],
    prices: Mapping[str, float],
    values: Mapping[str, Any],
) -> bool:
    """Whether it was interrupted."""
    if not todo:
        return False
    if not chosen.charges_money:
        from launchers.cli.studies.one_by_one import run_one_by_one

        return run_one_by_one(chosen, plan, folder, todo)
    from launchers.cli.studies.on_cloud import run_on_cloud

    at_once = min(len(todo), values["max_parallel"] or MOST_AT_ONCE)
    ignored = tuple(values["ignore_sdk"] or ())
    cancel = bool(values["cancel_on_interrupt"])
    return run_on_cloud(chosen, plan, folder, todo, prices, at_once, ignored, cancel)


def _unsent(chosen: Provider, todo: Sequence[Run]) -> list[Run]:
    """The runs whose jobs are yet to be paid for; those that were sent are only followed."""
    if not todo or not chosen.charges_money:
        return []
    from launchers.cli.studies.on_cloud import sent_job

    return [run for run in todo if sent_job(chosen, run) is None]


def _begun(chosen: Provider, plan: StudyPlan, words: Sequence[str]) -> Record:
    """The record of a study that begins now."""
    import time

    # Behind `--` the same word is the script's.
    ours = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:ours] if word.partition("=")[0] not in _PASSING]
    plans = [run.plan for run in plan.runs]
    here = chosen.runs_here
    machines = ", ".join(sorted({one.machine_name for one in plans} - {""}))
    return Record(
        name=plan.name,
        settings=plan.settings,
        source=source_digest(plan.source),
        files=digests_of(plan.source),
        command=shlex.join(["launch", *masked_arguments([*kept, *words[ours:]])]),
        begun=iso_time(time.time()) or "",
        machine=running.machine_text() if here else machines or chosen.title,
        cores=running.usable_cores() if here and not any(one.gpus for one in plans) else None,
        runs=tuple(Run(run.size, run.repeat, run.plan.world_size) for run in plan.runs),
    )


def _say_plan(chosen: Provider, plan: StudyPlan, folder: Path, read_from: str, sends: bool) -> None:
    """The first job's plan, then what the study makes of it."""
    first = plan.runs[0].plan
    say_plan(first, chosen.title, f"{read_from}, the first of {len(plan.runs)}", sends)
    say_problems(one for one in plan.problems if one not in first.problems)
    sizes = dict.fromkeys(run.plan.layout for run in plan.runs)
    how = "side by side" if chosen.charges_money else "one after the other, repeat by repeat"
    rows = [
        ("runs", f"{counted_runs(plan)}, {how}"),
        *(("sizes" if not at else "", text) for at, text in enumerate(sizes)),
        *((f"compare {name}", ", ".join(of)) for name, of in plan.wanted.grid.compared),
        ("batch", f"{batch_text(plan.wanted)} (--batch {plan.wanted.batch})"),
        ("seed", seed_text(plan)),
        ("folder", str(folder)),
    ]
    say(f"{styled('study', 'bold')}  {plan.name}")
    width = max(len(label) for label, _ in rows)
    for label, text in rows:
        say(f"  {label.ljust(width)}  {text}")


def _say_what_is_done(runs: Sequence[Run], todo: Sequence[Run], again: bool) -> None:
    if len(todo) == len(runs) and not any(map(running.is_done, runs)):
        return
    done = len(runs) - len(todo)
    say(f"{done} of {counted(len(runs), 'run')} ended before: {counted(len(todo), 'run')} to do")
    failed = sum(running.is_done(run) and run.state != "succeeded" for run in runs)
    if failed and not again:
        say(f"  {failed} without success; --again runs them once more")


def _say_interrupted(folder: StudyFolder) -> None:
    assert folder.record is not None
    runs = folder.record.runs
    done = sum(map(running.is_done, runs))
    say_interrupted(
        folder.record.name,
        f"{done} of {counted(len(runs), 'run')} are kept in {folder.path}",
        "to go on: the same command again",
    )


def _typed(values: Mapping[str, Any]) -> list[str]:
    """The study's own flags as they were typed, for a line that was meant."""
    words: list[str] = []
    for name in SIZES:
        for numbers in filter(None, values.get(f"grid_{name}") or ()):
            words += [f"--{name}", list_text(numbers)]
    for name, of in filter(None, values.get("compared") or ()):
        words += ["--compare", f"{name}={','.join(of)}"]
    return words
