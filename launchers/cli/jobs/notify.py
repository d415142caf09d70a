"""Telling somebody of a job's end, for every command that sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from launchers.cli.files import addresses_in_the_open, read_files
from launchers.cli.jobs.lookup import word_for
from launchers.cli.show.as_json import job_as_json
from launchers.cli.show.output import say, say_problems
from launchers.cli.variables import from_variables
from launchers.core.model.jobs import SUCCEEDED, JobHandle, JobStatus
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.provider import Provider
from launchers.core.spec.layers import stacked
from launchers.core.spec.targets import targets_of


def configured(chosen: Provider) -> tuple[str, ...]:
    """Who is told of a job that this command line did not start: what the variable says, or
    launch.yaml, or the user's defaults.

    Raises:
        LaunchError: With what is wrong in one of them.
    """
    problems: list[Problem] = []
    variables, _ = from_variables(chosen, (), problems, "notify")
    files = read_files(chosen, {}, problems)
    problems = [
        *(one for one in problems if one.severity == "error"),
        *addresses_in_the_open(*files.in_the_open),
    ]
    if problems:
        raise LaunchError(problems)
    given: tuple[str, ...] = stacked((*files.below, files.jobs[0], variables)).values.get(
        "notify", ()
    )
    return given


def configured_or_nobody(chosen: Provider) -> tuple[str, ...]:
    """The same for a command that was not asked to tell anybody: mistakes are warnings there."""
    try:
        return configured(chosen)
    except LaunchError as error:
        say_problems(replace(problem, severity="warning") for problem in error.problems)
        return ()


def tell_of_end(
    chosen: Provider, handle: JobHandle, status: JobStatus, words: Sequence[str]
) -> None:
    """Tell those whom ``words`` mean of a job that has ended; a job that has not is no news. What
    fails is a warning. May block for half a minute a target."""
    if words and status.final:
        tell(words, notice(chosen, handle, status))


def notice(chosen: Provider, handle: JobHandle, status: JobStatus) -> Mapping[str, Any]:
    """What is told of the job."""
    from launchers.core.notify.notice import notice_of

    word = word_for(handle)
    after = f"launch status {word}" if status.state == SUCCEEDED else f"launch logs {word}"
    return notice_of(handle, chosen.title, status, job_as_json(handle, status), after)


def tell(words: Sequence[str], message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Send a notice to each target.

    Returns:
        For each its form for readers, and the problem of one that failed, or None.
    """
    from launchers.core.notify.send import send

    answers: list[Mapping[str, Any]] = []
    try:
        for target in targets_of(words):
            problem = send(target, message)
            if problem is not None:
                say_problems([problem])
            else:
                say(f"told  {target.shown}")
            answers.append({"target": target.shown, "problem": problem})
    except KeyboardInterrupt:
        # The job's end is known and said; who does not want to wait for this may go.
        say("interrupted: not everybody was told")
    return answers
