"""Following a job: its lines as they come, and how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from launchers.cli.jobs.lookup import word_for
from launchers.cli.jobs.training import keep_training
from launchers.cli.show.as_json import job_as_json
from launchers.cli.show.output import (
    answer,
    note_interrupted,
    say,
    say_interrupted,
    say_problems,
    styled,
)
from launchers.cli.show.screen import Screen, say_last_words
from launchers.cli.show.streams import silence_stdout
from launchers.core.model.jobs import SUCCEEDED, JobHandle, JobStatus
from launchers.core.model.problems import (
    EXIT_INTERRUPTED,
    EXIT_JOB_DID_NOT_SUCCEED,
    EXIT_OK,
    CredentialsError,
    LaunchError,
    LogsUnreadableError,
    PassingError,
)
from launchers.core.output.lines import JobWatch, is_last_word, last_words, shown
from launchers.core.planning.plan import counted
from launchers.core.provider import Provider
from launchers.core.records.entry import INTENT

_CANCEL_SECONDS = 15.0


def follow_to_end(
    chosen: Provider,
    handle: JobHandle,
    as_json: bool,
    owner: bool,
    interrupted: bool = False,
    notify: Sequence[str] = (),
    verbose: bool = False,
) -> int:
    """Print a job's lines until its end, then the verdict.

    Args:
        owner: The job ends when this command is interrupted.
        interrupted: It was, while the job was started.
        notify: Who is told of the end.
        verbose: Show what toolkits and frameworks print around a job, too.

    Returns:
        0 where the job succeeded and was proven, 1 where not, 130 where interrupted.
    """
    watch = JobWatch(without_gpus=chosen.service.without_gpus(handle))
    screen = Screen(as_json, chosen.contract, verbose)
    try:
        if interrupted:
            raise KeyboardInterrupt
        read = _show_lines(chosen, handle, watch, screen)
        status = wait_for_end(chosen, handle, known=True)
    except KeyboardInterrupt:
        return _interrupted(chosen, handle, as_json) if owner else goes_on(handle)
    except BrokenPipeError:
        # The reader of our stdout went away (`| head`): whose the job is decides, as for Ctrl-C.
        silence_stdout()
        return _interrupted(chosen, handle, as_json) if owner else goes_on(handle)
    except LaunchError as error:
        if not chosen.charges_money:
            raise
        say_problems(error.problems)
        goes_on(handle, "following ended")
        return error.exit_code
    if status.final and read:
        keep_training(chosen, handle, watch.progress)
    say_end(chosen, handle, status, watch, screen)
    if as_json:
        answer(job_as_json(handle, status, watch.progress))
    if notify:
        from launchers.cli.jobs.notify import tell_of_end

        tell_of_end(chosen, handle, status, notify)
    return EXIT_OK if status.state == SUCCEEDED else EXIT_JOB_DID_NOT_SUCCEED


def _show_lines(chosen: Provider, handle: JobHandle, watch: JobWatch, screen: Screen) -> bool:
    """The job's lines to its end, or until it is known that they cannot be read: then False."""
    try:
        for line in chosen.service.logs(handle, follow=True, watch=watch):
            screen.show(line, watch)
    except LogsUnreadableError as error:
        screen.end(watch)
        say_problems(error.problems)
        say("the job keeps running; its logs cannot be read, so this command waits for its end")
        return False
    else:
        return True
    finally:
        screen.end(watch)


def say_end(
    chosen: Provider,
    handle: JobHandle,
    status: JobStatus,
    watch: JobWatch | None = None,
    screen: Screen | None = None,
) -> None:
    """The verdict: the proof and where things lie, or the first failing rank and its last words.

    Args:
        watch: What saw the job's lines; without it the failing rank's are asked for.
        screen: Where they were shown.
    """
    details = status.details
    name = word_for(handle)
    if status.state == SUCCEEDED:
        say(f"{styled('succeeded', 'green')}  {handle.name}: {status.proof}")
        if details.get("result"):
            say(f"  {details['result']}")
    elif not status.final:
        doing = status.reason or details.get("doing") or "it has not ended"
        say(f"{status.state}  {handle.name}: {doing}")
    else:
        say(f"{styled(status.state, 'red')}  {handle.name}: {status.reason}")
        if details.get("fix"):
            say(f"  fix  {details['fix']}")
        _say_failure(chosen, handle, details.get("failure") or {}, watch, screen)
    if details.get("billable_seconds") is not None:
        say(f"  billable  {details['billable_seconds']} s")
    if details.get("console"):
        say(f"  console  {details['console']}")
    if details.get("region"):
        if details.get("model"):
            say(f"  model  {details['model']}")
        say(f"  logs   launch logs {name}{_more(name, screen)}")
    if details.get("folder"):
        say(f"  model  {details['folder']}/model")
        say(f"  logs   {details['folder']}/logs   (launch logs {handle.name})")


def _more(name: str, screen: Screen | None) -> str:
    if screen is None or not screen.left_out:
        return ""
    lines = counted(screen.left_out, "line")
    return f"   ({lines} of {screen.whose} left out; --raw has them)"


def _say_failure(
    chosen: Provider,
    handle: JobHandle,
    failure: Mapping[str, Any],
    watch: JobWatch | None,
    screen: Screen | None,
) -> None:
    rank = failure.get("rank")
    if failure.get("exit_code") is not None:
        say(f"  its own exit code: {failure['exit_code']}")
    if rank is None:
        return
    # A traceback that has just been shown is not shown again.
    if screen is None or not screen.has_shown_traceback(rank):
        lines = watch.tail(rank) if watch is not None else []
        say_last_words(rank, lines or _last_words(chosen, handle, rank))
    say(f"  the rest: launch logs {word_for(handle)} --rank {rank}")


def _last_words(chosen: Provider, handle: JobHandle, rank: int) -> list[str]:
    try:
        no_gpus = chosen.service.without_gpus(handle)
        lines = (
            shown(line, no_gpus)
            for line in chosen.service.logs(handle, rank=rank)
            if is_last_word(line.text)
        )
        return last_words(line.text for line in lines if line is not None)
    except LaunchError as error:
        say_problems(error.problems)
        return []


def goes_on(handle: JobHandle, why: str = "interrupted") -> int:
    """This command ends before the job, which is not its to end."""
    name = word_for(handle)
    say_interrupted(
        handle.name,
        f"{handle.name} keeps running, and costs money until it ends",
        f"to follow it again: launch logs {name} --follow",
        f"to stop it: launch cancel {name}",
        why=why,
    )
    return EXIT_INTERRUPTED


def wait_for_end(
    chosen: Provider,
    handle: JobHandle,
    deadline: float | None = None,
    known: bool = False,
    tell: Callable[[str], None] = say,
) -> JobStatus:
    """Ask until the job has ended, or until ``deadline`` (monotonic seconds).

    A provider that gives no good answer for a while is asked again, and so it is with credentials
    that were good before. A job that was begun and not sent does not end, and is not waited for.

    Args:
        known: Whether the caller's credentials were good for this job before.
        tell: Takes a line for a person where it has to wait.
    """
    told = False
    while True:
        status, wait = None, chosen.service.poll_seconds
        try:
            status = chosen.service.describe(handle)
        except (PassingError, CredentialsError) as error:
            wait = max(wait, 1.0)
            late = deadline is not None and time.monotonic() + wait > deadline
            if late or (isinstance(error, CredentialsError) and not known):
                raise
            if not told:
                tell(_why_it_waits(error))
            told = True
        else:
            if told:
                tell(f"{chosen.title} answers again")
            told, known = False, True
        if status is not None and (status.final or status.state == INTENT):
            return status
        if status is not None and deadline is not None and time.monotonic() >= deadline:
            return status
        time.sleep(wait)


def _why_it_waits(error: LaunchError) -> str:
    found = error.problems[0].found
    if isinstance(error, CredentialsError):
        why = f"the credentials are no longer valid ({found})"
        return f"{why}; the job keeps running, and this command waits: {error.renewal}"
    return f"no usable answer ({found}); the job keeps running, and this command waits"


def _interrupted(chosen: Provider, handle: JobHandle, as_json: bool) -> int:
    say("interrupted: ending the job")
    told = False
    try:
        chosen.service.cancel(handle)
        told = True
        status = wait_for_end(chosen, handle, time.monotonic() + _CANCEL_SECONDS, known=True)
    except (LaunchError, KeyboardInterrupt) as error:
        if not chosen.charges_money:
            raise
        if isinstance(error, LaunchError):
            say_problems(error.problems)
        if not told:
            return goes_on(handle, "the request to stop may be lost")
        asked = f"{handle.name} has been asked to stop"
        say(f"{asked}; launch status {word_for(handle)} says when it has")
        note_interrupted(handle.name, asked, f"launch status {word_for(handle)}")
        return EXIT_INTERRUPTED
    say_end(chosen, handle, status)
    if as_json:
        answer(job_as_json(handle, status))
    return EXIT_INTERRUPTED
