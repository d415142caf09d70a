"""Following a job: its lines as they come, a bar while it trains, and how it ended."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from launchers.cli.show.output import (
    answer,
    bar,
    clear_bar,
    rank_style,
    say,
    say_problems,
    show_bar,
    silence_stdout,
    styled,
)
from launchers.core.model.jobs import SUCCEEDED, JobHandle, JobStatus, LogLine
from launchers.core.model.problems import (
    EXIT_INTERRUPTED,
    EXIT_JOB_DID_NOT_SUCCEED,
    EXIT_OK,
    CredentialsError,
    LaunchError,
    LogsUnreadableError,
    PassingError,
)
from launchers.core.output.lines import (
    TAIL_LINES,
    JobWatch,
    Progress,
    TracebackFolder,
    is_progress,
    shown,
    tag,
)
from launchers.core.provider import Provider
from launchers.core.records.ledger import INTENT, Ledger

_CANCEL_SECONDS = 15.0


def follow_to_end(
    chosen: Provider, handle: JobHandle, as_json: bool, owner: bool, interrupted: bool = False
) -> int:
    """Print a job's lines until its end, then the verdict.

    Args:
        owner: The job ends when this command is interrupted.
        interrupted: It was, while the job was started.

    Returns:
        0 where the job succeeded and was proven, 1 where not, 130 where interrupted.
    """
    watch = JobWatch(without_gpus=chosen.service.without_gpus(handle))
    try:
        if interrupted:
            raise KeyboardInterrupt
        _show_lines(chosen, handle, watch, Screen(to_stderr=as_json))
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
    say_end(chosen, handle, status, watch)
    if as_json:
        answer(summary(handle, status))
    return EXIT_OK if status.state == SUCCEEDED else EXIT_JOB_DID_NOT_SUCCEED


def _show_lines(chosen: Provider, handle: JobHandle, watch: JobWatch, screen: Screen) -> None:
    """The job's lines to its end, or until it is known that they cannot be read."""
    try:
        for line in chosen.service.logs(handle, follow=True, watch=watch):
            screen.show(line, watch)
    except LogsUnreadableError as error:
        screen.end()
        say_problems(error.problems)
        say("the job goes on; its logs cannot be read, so this command waits for its end")
    finally:
        screen.end()


class Screen:
    """Prints tagged lines; on a terminal, progress is a bar on the last line instead.

    Lines are made printable (:mod:`launchers.core.printable`), and those that TensorFlow prints
    at every start are left out.

    Args:
        to_stderr: Lines go to stderr, because stdout carries the JSON answer.
    """

    def __init__(self, to_stderr: bool = False):
        self._stream = sys.stderr if to_stderr else sys.stdout
        self._bar = self._stream.isatty()
        self._folder = TracebackFolder()

    def show(self, line: LogLine, watch: JobWatch) -> None:
        """Take one line; prints what is ready to be printed."""
        visible = shown(line, watch.without_gpus)
        for ready in self._folder.feed(visible) if visible else ():
            self._print(ready, watch.progress)

    def end(self) -> None:
        """Print what was held back, and leave the last line clean."""
        for ready in self._folder.flush():
            self._print(ready, None)
        clear_bar()

    def _print(self, line: LogLine, progress: Progress | None) -> None:
        clear_bar()
        drawn = self._bar and progress is not None
        if not (drawn and is_progress(line.text)):
            label = tag(line)
            if label:
                label = styled(label, rank_style(line.rank), self._stream) + " "
            print(label + line.text, file=self._stream, flush=True)
        if drawn and progress is not None:
            show_bar(
                f"{bar(progress.fraction)} epoch {progress.epoch}/{progress.epochs}  step "
                f"{progress.step}/{progress.steps}  {progress.rate:,.0f} images/s  "
                f"loss {progress.loss}",
                self._stream,
                "cyan",
            )


def say_end(
    chosen: Provider, handle: JobHandle, status: JobStatus, watch: JobWatch | None = None
) -> None:
    """The verdict: the proof and where things lie, or the first failing rank and its last lines.

    Args:
        watch: What saw the job's lines; without it the failing rank's are asked for.
    """
    details = status.details
    name = _word_for(handle)
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
        _say_failure(chosen, handle, details.get("failure") or {}, watch)
    if details.get("billable_seconds") is not None:
        say(f"  billable  {details['billable_seconds']} s")
    if details.get("console"):
        say(f"  console  {details['console']}")
    if details.get("region"):
        if details.get("model"):
            say(f"  model  {details['model']}")
        say(f"  logs   launch logs {name}")
    if details.get("folder"):
        say(f"  model  {details['folder']}/model")
        say(f"  logs   {details['folder']}/logs   (launch logs {handle.name})")


def _say_failure(
    chosen: Provider, handle: JobHandle, failure: Mapping[str, Any], watch: JobWatch | None
) -> None:
    rank = failure.get("rank")
    if failure.get("exit_code") is not None:
        say(f"  its own exit code: {failure['exit_code']}")
    if rank is None:
        return
    lines = watch.tail(rank) if watch is not None else []
    # A traceback that has just been shown is not shown again.
    if watch is None or not any(text.startswith("Traceback (most recent") for text in lines):
        if not lines:
            lines = _last_lines(chosen, handle, rank)
        say(f"  the last lines of rank {rank}:")
        for text in lines:
            say(f"    {text}")
    say(f"  the rest: launch logs {_word_for(handle)} --rank {rank}")


def _last_lines(chosen: Provider, handle: JobHandle, rank: int) -> list[str]:
    try:
        no_gpus = chosen.service.without_gpus(handle)
        lines = (shown(line, no_gpus) for line in chosen.service.logs(handle, rank=rank))
        return [line.text for line in deque(filter(None, lines), TAIL_LINES)]
    except LaunchError as error:
        say_problems(error.problems)
        return []


def goes_on(handle: JobHandle, why: str = "interrupted") -> int:
    """This command ends before the job, which is not its to end."""
    name = _word_for(handle)
    say(f"{why}: {handle.name} goes on, and is paid for until it ends")
    say(f"  to follow it again: launch logs {name} --follow")
    say(f"  to stop it: launch cancel {name}")
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
        return f"{why}; the job goes on, and this command waits: {error.renewal}"
    return f"no usable answer ({found}); the job goes on, and this command waits"


def _word_for(handle: JobHandle) -> str:
    """How a command names the job."""
    if Ledger().get(handle.provider, handle.name) is not None:
        return handle.name
    region = handle.details.get("region")
    return f"{handle.provider}:{handle.name}" + (f" --region {region}" if region else "")


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
        status_line = f"launch status {_word_for(handle)}"
        say(f"{handle.name} has been asked to stop; {status_line} says when it has")
        return EXIT_INTERRUPTED
    say_end(chosen, handle, status)
    if as_json:
        answer(summary(handle, status))
    return EXIT_INTERRUPTED


def summary(handle: JobHandle, status: JobStatus) -> dict[str, Any]:
    """What ``--json`` says of one job."""
    entry = Ledger().get(handle.provider, handle.name)
    details = {key: value for key, value in status.details.items() if key not in _TWICE}
    return {
        "name": handle.name,
        "provider": handle.provider,
        "state": status.state,
        "reason": status.reason,
        "world_size": entry.world_size if entry else None,
        **details,
        "proof": status.proof,
    }


_TWICE = ("state", "reason", "proof", "supervisor", "name")
