"""From a prepared job to a started and followed one, on every provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from launchers.cli.interrupts import held_back
from launchers.cli.show.as_json import job_as_json
from launchers.cli.show.output import answer, say, say_answers, say_interrupted, say_problems
from launchers.cli.values import FlagType
from launchers.cli.verb import Flag
from launchers.core import pipeline
from launchers.core.analysis import standard_input
from launchers.core.model.jobs import RUNNING, JobDefinition, JobHandle, JobStatus
from launchers.core.model.problems import EXIT_INTERRUPTED, EXIT_OK, LaunchError, errors
from launchers.core.provider import Provider
from launchers.core.records.entry import INTENT, Entry
from launchers.core.records.ledger import Ledger
from launchers.core.spec.value_types import Count

# Of a sweep's jobs; more threads than this would only wait for each other.
MOST_AT_ONCE = 64


def submission_flags(chosen: Provider) -> list[click.Option]:
    """What only a submission to a cloud has: it costs money and outlives the command."""
    if not chosen.charges_money:
        return []
    return [
        ignore_sdk_flag(),
        Flag(
            ["--again"],
            group="money",
            is_flag=True,
            help="Run once more although the same job is in progress or has succeeded.",
        ),
        Flag(
            ["--cancel-on-interrupt"],
            group="money",
            rare=True,
            is_flag=True,
            help="End the job when this command is interrupted. Default: it goes on.",
        ),
        Flag(
            ["--max-parallel"],
            group="money",
            rare=True,
            type=FlagType(Count(1, MOST_AT_ONCE)),
            metavar="N",
            help="The number of a sweep's jobs at once. Default: all.",
        ),
    ]


def ignore_sdk_flag() -> Flag:
    """The gate's way out, on every verb that sends."""
    return Flag(
        ["--ignore-sdk"],
        group="safety",
        rare=True,
        metavar="NAME",
        multiple=True,
        help="Go on although this SDK is too old or too new (repeatable).",
    )


def start(chosen: Provider, prepared: pipeline.Prepared, values: Mapping[str, Any]) -> int:
    """Start the job unless it runs already or has succeeded, then follow it.

    Returns:
        The exit code of the command.
    """
    if chosen.charges_money:
        from launchers.cli.show.narrator import Narrator

        chosen = chosen.heard_by(Narrator())
    existing = prepared.run.existing
    if existing is None:
        _look_at_standard_input(chosen, prepared)
    interrupts: list[int] = []
    if existing is not None and existing.final:
        return _show(chosen, existing, values["as_json"])
    if existing is not None:
        follows = "" if values["detach"] else ", this follows it"
        say(f"{existing.name} is in progress: nothing is sent{follows}")
        handle = existing.handle
    else:
        try:
            # A job of this machine starts at once, and is then known and can be ended.
            with held_back(not chosen.charges_money) as interrupts:
                handle = pipeline.submit(
                    chosen,
                    prepared,
                    tuple(values.get("ignore_sdk") or ()),
                    warn=lambda problem: say_problems([problem]),
                    answered=say_answers,
                )
            if handle.name != prepared.definition.name:
                taken = prepared.definition.name
                say(f"{taken} was started by another command just now: this is {handle.name}")
        except KeyboardInterrupt:
            if not chosen.charges_money:
                raise
            return _interrupted(chosen, prepared.definition, bool(values["cancel_on_interrupt"]))
    if values["detach"] and not interrupts:
        return _leave(chosen, handle, prepared, existing is None, values["as_json"])
    from launchers.cli.jobs.follow import follow_to_end

    # A job on a cloud outlives the command that follows it.
    owner = not chosen.charges_money or bool(values.get("cancel_on_interrupt"))
    return follow_to_end(
        chosen,
        handle,
        as_json=values["as_json"],
        owner=owner,
        interrupted=bool(interrupts),
        notify=prepared.job.notify,
        verbose=values["verbose"],
    )


def _look_at_standard_input(chosen: Provider, prepared: pipeline.Prepared) -> None:
    ranks = prepared.definition.world_size
    if chosen.runs_here and ranks == 1:
        return  # handed on
    source = prepared.plan.source
    where = f"{ranks} ranks" if chosen.runs_here else f"a job of {chosen.title}"
    found = standard_input.problems(source.folder / source.script, where)
    if errors(found):
        raise LaunchError(found)
    say_problems(found)


def _interrupted(chosen: Provider, definition: JobDefinition, cancel: bool) -> int:
    """Interrupted before the job was known to be there: says whether there is one to pay for."""
    name = definition.name
    entry = Ledger().get(chosen.name, name)
    if entry is None or "sent" not in entry.details:
        say_interrupted(name, f"nothing was sent; {name} costs nothing")
        return EXIT_INTERRUPTED
    try:
        there = chosen.service.describe(entry.handle).state != INTENT
        if there and cancel:
            chosen.service.cancel(entry.handle)
    except (LaunchError, KeyboardInterrupt) as error:
        # A second interrupt: the answer is not waited for.
        if isinstance(error, LaunchError):
            say_problems(error.problems)
        there = cancel = False
    if there and cancel:
        say_interrupted(name, f"{name} was sent already, and has been asked to stop")
        return EXIT_INTERRUPTED
    found = f"{name} may have been sent; `launch status {name}` shows whether it exists"
    if there:
        found = f"{name} was sent, keeps running, and costs money until it ends"
    say_interrupted(
        name,
        found,
        "to follow it, or to send it where it was not: the same command again",
        f"to stop it: launch cancel {name}",
    )
    return EXIT_INTERRUPTED


def _leave(
    chosen: Provider, handle: JobHandle, prepared: pipeline.Prepared, started: bool, as_json: bool
) -> int:
    """``--detach``: the job goes on without this command."""
    chosen.service.detach(handle)
    what = f"started {handle.name}; " if started else ""
    say(f"{what}follow it with: launch logs {handle.name} --follow")
    if prepared.job.notify:
        say(
            f"this command will not see its end: `launch notify {handle.name}` waits for it and "
            "notifies you"
        )
    if as_json:
        answer(job_as_json(handle, JobStatus(RUNNING, details=handle.details)))
    return EXIT_OK


def _show(chosen: Provider, entry: Entry, as_json: bool) -> int:
    """The job has succeeded before: shows that, and sends nothing."""
    from launchers.cli.jobs.follow import say_end

    status = chosen.service.describe(entry.handle)
    say(f"{entry.name} has already run, so nothing is sent; --again starts another run")
    say_end(chosen, entry.handle, status)
    if as_json:
        answer(job_as_json(entry.handle, status))
    return EXIT_OK
