"""How a rehearsal's end is told: to a person on stderr, to a program as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launchers.cli.show.as_json import failure_as_json
from launchers.cli.show.output import say, styled
from launchers.cli.show.screen import Screen, say_last_words
from launchers.core.model.jobs import SUCCEEDED
from launchers.core.planning.plan import counted
from launchers.core.strategies import named
from launchers.rehearsal.course.outcome import RehearsalResult

if TYPE_CHECKING:
    from launchers.cli.answers.rehearsals import RehearsalAnswer

_WORDS = {"containers": "to start containers", "collecting": "to collect"}


def say_result(result: RehearsalResult, screen: Screen) -> None:
    """The verdict, where the time went, where things lie.

    Args:
        screen: Where the job's lines were shown.
    """
    for text in result.restarts:
        say(f"  {text}")
    if result.state == SUCCEEDED:
        say(f"{styled('succeeded', 'green')}  {_ranks(result)}: {result.proof}")
    else:
        say(f"{styled(result.state, 'red')}  {_ranks(result)}: {result.reason}")
        if result.fix:
            say(f"  fix  {result.fix}")
        _say_last_words(result, screen)
    for text in result.warnings:
        say(f"{styled('warning', 'yellow')}: {text}")
    say(f"  {_time(result)}")
    for name, folder in result.collected.items():
        say(f"  {name}  {folder}")
    for text in result.differences:
        say(f"  hosts differ  {text}")
    for text in result.refused:
        say(f"  left inside  {text}")
    if result.folder is not None:
        say(f"  log  {result.folder / 'rehearsal.log'}{_more(screen)}")


def summary(result: RehearsalResult, provider: str) -> RehearsalAnswer:
    """What ``--json`` says."""
    return {
        "name": result.name,
        "id": result.id,
        "provider": provider,
        "state": result.state,
        "reason": result.reason,
        "proof": result.proof,
        "fix": result.fix,
        "world_size": result.expected.world_size,
        "document_world_size": result.expected.document_world_size,
        "hosts": result.expected.hosts,
        "deviations": list(result.deviations),
        "warnings": list(result.warnings),
        "seconds": {name: round(value, 1) for name, value in result.seconds.items()},
        "restarts": list(result.restarts),
        "failure": failure_as_json(result.failure),
        "folder": str(result.folder) if result.folder else None,
        "collected": {name: str(folder) for name, folder in result.collected.items()},
        "differences": list(result.differences),
        "refused": list(result.refused),
    }


def _ranks(result: RehearsalResult) -> str:
    here, whole = result.expected.world_size, result.expected.document_world_size
    if result.copies:
        return f"rehearsed as {result.copies} copies of one job, each of world size 1"
    return f"rehearsed with {here} of {counted(whole, named(result.expected.strategy).counts)}"


def _time(result: RehearsalResult) -> str:
    """``took 58 s: 2 s to start containers, 25 s of the job, 30 s the toolkit's own sleep``."""
    seconds = dict(result.seconds)
    total = seconds.pop("total", 0.0)
    job = seconds.pop("job", 0.0)
    pauses = {name: value for name, value in seconds.items() if name not in _WORDS}
    parts = [f"{seconds.get('containers', 0.0):.0f} s {_WORDS['containers']}"]
    if job:
        parts.append(f"{job - sum(pauses.values()):.0f} s of the job")
    parts += [f"{value:.0f} s {name}" for name, value in pauses.items()]
    parts.append(f"{seconds.get('collecting', 0.0):.0f} s {_WORDS['collecting']}")
    return f"took {total:.0f} s: {', '.join(parts)}"


def _say_last_words(result: RehearsalResult, screen: Screen) -> None:
    """Of the rank that failed first, unless its traceback has just been shown."""
    rank = (result.failure or {}).get("rank")
    if not screen.has_shown_traceback(rank):
        say_last_words(rank, result.tail)


def _more(screen: Screen) -> str:
    if not screen.left_out:
        return ""
    lines = counted(screen.left_out, "line")
    return f"  (with {lines} of {screen.whose} that were left out; --verbose shows them)"
