"""`launch cancel JOB`."""

from __future__ import annotations

import time

import click

from launchers.cli.catalogue import RULES
from launchers.cli.completion import values
from launchers.cli.jobs.follow import wait_for_end
from launchers.cli.jobs.lookup import found_job, region_flag
from launchers.cli.show.as_json import job_as_json
from launchers.cli.show.output import answer, say
from launchers.cli.verb import Verb
from launchers.core.model.jobs import LOST
from launchers.core.model.problems import LaunchError
from launchers.core.records.entry import INTENT

_WAIT_SECONDS = 15.0


@click.command(
    "cancel",
    cls=Verb,
    examples=("launch cancel train-5c1f9e02",),
    help="End a job and all its processes.",
)
@click.argument("job", metavar="JOB", shell_complete=values.jobs)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
@region_flag
def command(job: str, region: str | None, as_json: bool) -> int:
    """Ask for the end and wait shortly for it; a job that has ended stays as it is."""
    chosen, entry = found_job(job, region)
    before = chosen.service.describe(entry.handle)
    status = before
    if before.state == LOST and chosen.charges_money:
        # It may run, and cost money, where these credentials do not reach.
        place, fix = f"{chosen.name}:{entry.name}", "use the credentials and region that sent it"
        raise LaunchError(RULES["job-unknown"].at(place, before.reason, "a job to end", fix))
    if before.final:
        say(f"{entry.name} had already ended: {before.state}")
    elif before.state == INTENT:
        say(f"{entry.name} was prepared but not sent: there is nothing to stop")
    else:
        chosen.service.cancel(entry.handle)
        status = wait_for_end(chosen, entry.handle, time.monotonic() + _WAIT_SECONDS)
        say(f"{entry.name}: {status.state}")
    if as_json:
        answer(job_as_json(entry.handle, status))
    return 0
