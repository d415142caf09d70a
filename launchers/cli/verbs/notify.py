"""`launch notify JOB`: wait for a job's end, and tell of it."""

from __future__ import annotations

import click

from launchers.cli.catalogue import RULES
from launchers.cli.completion import values
from launchers.cli.jobs.follow import goes_on, say_end, wait_for_end
from launchers.cli.jobs.lookup import found_job, region_flag
from launchers.cli.jobs.notify import configured, notice, tell
from launchers.cli.show.as_json import problem_as_json
from launchers.cli.show.output import answer, say
from launchers.cli.values import parsed_values
from launchers.cli.verb import Verb
from launchers.core.model.jobs import SUCCEEDED
from launchers.core.model.problems import (
    EXIT_BAD_REQUEST,
    EXIT_JOB_DID_NOT_SUCCEED,
    EXIT_OK,
    LaunchError,
    Problem,
    errors,
)
from launchers.core.notify.notice import Notice, sample
from launchers.core.notify.send import faults
from launchers.core.provider import Provider
from launchers.core.registry import PROVIDERS, provider
from launchers.core.spec.targets import Targets, targets_of


@click.command(
    "notify",
    cls=Verb,
    examples=(
        "launch notify train-5c1f9e02 --to desktop",
        "launch notify --test",
    ),
    help="Wait for a job's end, then notify you: on the desktop, by a webhook, by a command. "
    "Without --to it notifies the targets in `notify:` of ./launch.yaml or of your defaults.yaml. "
    "Exits with the job's 0 or 1.",
)
@click.argument("job", metavar="[JOB]", required=False, shell_complete=values.jobs)
@click.option(
    "--to",
    multiple=True,
    metavar="TARGET",
    shell_complete=values.notify_targets,
    help="desktop, webhook:VARIABLE or command:LINE (repeatable).",
)
@click.option("--test", is_flag=True, help="Send a sample now, without a job.")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
@region_flag
def command(
    job: str | None, to: tuple[str, ...], test: bool, as_json: bool, region: str | None
) -> int:
    """0 and 1 as `wait` has them; of a test, 0 where everybody was told."""
    if bool(job) == test:
        found = "together with a JOB" if job else "neither a JOB nor --test"
        raise LaunchError(RULES["notify-what"].at("launch notify", found))
    if job is None:
        words = _words(provider(next(iter(PROVIDERS))), to)
        return _answered(words, sample(), EXIT_OK, as_json, test=True)
    chosen, entry = found_job(job, region)
    words = _words(chosen, to)
    shown = ", ".join(target.shown for target in targets_of(words))
    say(f"waits for the end of {entry.name}, then tells {shown}")
    try:
        status = wait_for_end(chosen, entry.handle)
    except KeyboardInterrupt:
        if not chosen.charges_money:
            raise
        return goes_on(entry.handle)
    if not as_json:
        say_end(chosen, entry.handle, status)
    code = EXIT_OK if status.state == SUCCEEDED else EXIT_JOB_DID_NOT_SUCCEED
    return _answered(words, notice(chosen, entry.handle, status), code, as_json)


def _words(chosen: Provider, to: tuple[str, ...]) -> tuple[str, ...]:
    """Whom to tell; refused before anything is waited for where nobody can be."""
    problems: list[Problem] = []
    given = parsed_values(Targets(), "--to", to, problems) if to else configured(chosen)
    origin = "--to" if to else "notify"
    words: tuple[str, ...] = given or ()
    targets = targets_of(words)
    if to:
        problems += [
            RULES["notify-address"].at(origin, one.shown) for one in targets if one.is_address
        ]
    if not targets and not problems:
        problems.append(RULES["notify-nobody"].at(origin, "nobody to tell"))
    problems += faults(targets, origin, "error")
    if errors(problems):
        raise LaunchError(problems)
    return words


def _answered(
    words: tuple[str, ...], message: Notice, code: int, as_json: bool, test: bool = False
) -> int:
    told = tell(words, message)
    failed = [one["problem"] for one in told if one["problem"] is not None]
    if as_json:
        shown = [
            {"target": one["target"], "problem": one["problem"] and problem_as_json(one["problem"])}
            for one in told
        ]
        answer({"notice": message, "told": shown})
    return EXIT_BAD_REQUEST if test and (failed or not told) else code
