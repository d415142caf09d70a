"""`launch cancel JOB`."""

from __future__ import annotations

import time

import click

from launchers.cli.follow import summary
from launchers.cli.jobs import found_job
from launchers.cli.output import answer, say

_WAIT_SECONDS = 15.0


@click.command("cancel", help="End a job and all its processes.")
@click.argument("job", metavar="JOB")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def command(job: str, as_json: bool) -> int:
    """Ask for the end and wait shortly for it; a job that has ended stays as it is."""
    chosen, entry = found_job(job)
    before = chosen.describe(entry.handle)
    status = before
    if before.final:
        say(f"{entry.name} had already ended: {before.state}")
    else:
        chosen.cancel(entry.handle)
        deadline = time.monotonic() + _WAIT_SECONDS
        while not status.final and time.monotonic() < deadline:
            time.sleep(0.1)
            status = chosen.describe(entry.handle)
        say(f"{entry.name}: {status.state}")
    if as_json:
        answer(summary(entry.handle, status))
    return 0
