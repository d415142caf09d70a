"""`launch list`: the jobs that the ledger knows."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING

import click

from launchers.cli.catalogue import RULES
from launchers.cli.jobs.lookup import statuses_of
from launchers.cli.show.output import answer, say
from launchers.cli.show.table import table
from launchers.cli.values import FlagType
from launchers.cli.verb import Verb
from launchers.core.model.jobs import FINAL_STATES, PENDING, RUNNING, STOPPING, JobStatus
from launchers.core.model.problems import LaunchError
from launchers.core.records.entry import INTENT, Entry
from launchers.core.records.ledger import Ledger
from launchers.core.records.wanted import Wanted
from launchers.core.registry import PROVIDERS
from launchers.core.spec.value_types import Count, Duration, format_duration
from launchers.core.times import iso_time

if TYPE_CHECKING:
    from launchers.cli.answers.jobs import ListedJob

_NEWEST = 20
_STATES = (INTENT, PENDING, RUNNING, STOPPING, *sorted(FINAL_STATES))


@click.command(
    "list",
    cls=Verb,
    examples=(
        "launch list",
        "launch list --state failed --since 2d",
    ),
    help="Show every job that has not ended and the newest others, the newest first.",
)
@click.option(
    "--limit",
    type=FlagType(Count(0, 10**9)),
    default=str(_NEWEST),
    metavar="N",
    help=f"Show this many of the newest. Default: {_NEWEST}",
)
@click.option("--state", type=click.Choice(_STATES), help="Only jobs in this state.")
@click.option("--provider", type=click.Choice(PROVIDERS), help="Only jobs of this provider.")
@click.option(
    "--since",
    metavar="TIME",
    help="Only jobs that were started within it (2d, 12h), or since a day (2026-11-30).",
)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def command(
    limit: int, state: str | None, provider: str | None, since: str | None, as_json: bool
) -> int:
    """Ask each unfinished job's provider, then print the table."""
    ledger = Ledger()
    wanted = Wanted(provider or "", state or "", _moment(since) if since else 0.0)
    entries = ledger.jobs(wanted, limit)
    more = ledger.count(wanted) - len(entries)
    jobs = [
        (entry, status)
        for entry, status in zip(entries, statuses_of(entries), strict=True)
        if not state or status.state == state
    ]
    if as_json:
        answer([_as_json(entry, status) for entry, status in jobs])
    elif jobs:
        table(
            ("JOB", "WHERE", "STATE", "RANKS", "STARTED", "RAN", "PROOF OR REASON"),
            [_row(entry, status) for entry, status in jobs],
            may_go=("RAN", "RANKS", "WHERE", "STARTED", "PROOF OR REASON"),
            prose="PROOF OR REASON",
        )
    elif not more:
        none = "no such jobs" if wanted != Wanted() else "no jobs yet"
        say(f"{none}: `launch local train.py` runs one here")
    if more > 0:
        say(f"and {more:,} more: --limit {len(entries) + more} shows all")
    return 0


def _moment(text: str) -> float:
    """Seconds since the epoch."""
    try:
        return time.time() - Duration().parse(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        expected = "a time such as 2d or 12h, or a day such as 2026-11-30"
        raise LaunchError(RULES["flag-value"].at("--since", text[:60], expected)) from None


def _row(entry: Entry, status: JobStatus) -> tuple[str, ...]:
    ended = status.details.get("ended") or entry.ended or time.time()
    ran = format_duration(max(0.0, ended - entry.created))
    return (
        entry.name,
        entry.provider,
        status.state,
        str(entry.world_size),
        _day(entry.created),
        ran,
        status.reason or status.proof,
    )


def _day(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    except (ValueError, OverflowError, OSError):  # a damaged row
        return "unknown"


def _as_json(entry: Entry, status: JobStatus) -> ListedJob:
    return {
        "name": entry.name,
        "provider": entry.provider,
        "state": status.state,
        "reason": status.reason,
        "proof": status.proof,
        "world_size": entry.world_size,
        "created": iso_time(status.details.get("created") or entry.created),
        "ended": iso_time(status.details.get("ended") or entry.ended),
    }
