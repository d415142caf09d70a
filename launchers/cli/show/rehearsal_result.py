"""How a rehearsal's end is told: to a person on stderr, to a program as JSON."""

from __future__ import annotations

from typing import Any

from launchers.cli.show.output import say, styled
from launchers.core.model.jobs import SUCCEEDED
from launchers.rehearsal.course.outcome import RehearsalResult

_WORDS = {"containers": "to start containers", "collecting": "to collect"}


def say_result(result: RehearsalResult) -> None:
    """The verdict, where the time went, where things lie."""
    for text in result.restarts:
        say(f"  {text}")
    if result.state == SUCCEEDED:
        say(f"{styled('succeeded', 'green')}  {_ranks(result)}: {result.proof}")
    else:
        say(f"{styled(result.state, 'red')}  {_ranks(result)}: {result.reason}")
        if result.fix:
            say(f"  fix  {result.fix}")
        _say_tail(result)
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
        say(f"  log  {result.folder / 'rehearsal.log'}")


def summary(result: RehearsalResult, provider: str) -> dict[str, Any]:
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
        "deviations": result.deviations,
        "warnings": result.warnings,
        "seconds": {name: round(value, 1) for name, value in result.seconds.items()},
        "restarts": result.restarts,
        "failure": result.failure,
        "folder": result.folder,
        "collected": result.collected,
        "differences": result.differences,
        "refused": result.refused,
    }


def _ranks(result: RehearsalResult) -> str:
    here, whole = result.expected.world_size, result.expected.document_world_size
    if here == whole:
        return f"rehearsed with {whole} of {whole} ranks"
    return f"rehearsed with {here} of {whole} ranks"


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


def _say_tail(result: RehearsalResult) -> None:
    if not result.tail:
        return
    rank = (result.failure or {}).get("rank")
    say(f"  the last lines of {'its container' if rank is None else f'rank {rank}'}:")
    for text in result.tail:
        say(f"    {text}")
