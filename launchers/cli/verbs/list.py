"""`launch list`: every job that the ledger knows."""

from __future__ import annotations

import time

import click

from launchers.cli.jobs.lookup import statuses_of
from launchers.cli.show.output import answer, say, table
from launchers.core.model.jobs import JobStatus
from launchers.core.records.ledger import Entry, Ledger
from launchers.core.spec.value_types import format_duration


@click.command("list", help="Show all jobs, the newest first.")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def command(as_json: bool) -> int:
    """Ask each unfinished job's provider, then print the table."""
    entries = Ledger().jobs()
    jobs = list(zip(entries, statuses_of(entries), strict=True))
    if as_json:
        answer([_as_json(entry, status) for entry, status in jobs])
    elif jobs:
        table(
            ("JOB", "WHERE", "STATE", "RANKS", "STARTED", "RAN", "PROOF OR REASON"),
            [_row(entry, status) for entry, status in jobs],
        )
    else:
        say("no jobs yet: `launch local train.py` runs one here")
    return 0


def _row(entry: Entry, status: JobStatus) -> tuple[str, ...]:
    ended = status.details.get("ended") or entry.ended or time.time()
    started = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.created))
    ran = format_duration(max(0.0, ended - entry.created))
    return (
        entry.name,
        entry.provider,
        status.state,
        str(entry.world_size),
        started,
        ran,
        status.reason or status.proof,
    )


def _as_json(entry: Entry, status: JobStatus) -> dict[str, object]:
    return {
        "name": entry.name,
        "provider": entry.provider,
        "state": status.state,
        "reason": status.reason,
        "proof": status.proof,
        "world_size": entry.world_size,
        "created": entry.created,
        "ended": status.details.get("ended") or entry.ended,
    }
