"""`launch wait JOB`."""

from __future__ import annotations

import time

import click

from launchers.cli.completion import values
from launchers.cli.jobs.follow import goes_on, say_end, wait_for_end
from launchers.cli.jobs.lookup import found_job, region_flag
from launchers.cli.jobs.notify import configured_or_nobody, tell_of_end
from launchers.cli.show.as_json import job_as_json
from launchers.cli.show.output import answer
from launchers.cli.values import FlagType
from launchers.cli.verb import Verb
from launchers.core.model.jobs import SUCCEEDED
from launchers.core.model.problems import EXIT_JOB_DID_NOT_SUCCEED, EXIT_OK
from launchers.core.spec.value_types import Duration


@click.command(
    "wait",
    cls=Verb,
    examples=("launch wait train-5c1f9e02 --timeout 2h",),
    help="Wait for a job's end; exit with its 0 or 1.",
)
@click.argument("job", metavar="JOB", shell_complete=values.jobs)
@click.option(
    "--timeout", type=FlagType(Duration()), metavar="10m", help="Give up after this time (exit 1)."
)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
@region_flag
def command(job: str, region: str | None, timeout: int | None, as_json: bool) -> int:
    """Block until the job has ended; an interrupt leaves the job as it is."""
    chosen, entry = found_job(job, region)
    notify = () if entry.final else configured_or_nobody(chosen)
    deadline = time.monotonic() + timeout if timeout else None
    try:
        status = wait_for_end(chosen, entry.handle, deadline)
    except KeyboardInterrupt:
        if not chosen.charges_money:
            raise
        return goes_on(entry.handle)
    if as_json:
        answer(job_as_json(entry.handle, status))
    else:
        say_end(chosen, entry.handle, status)
    tell_of_end(chosen, entry.handle, status, notify)
    return EXIT_OK if status.state == SUCCEEDED else EXIT_JOB_DID_NOT_SUCCEED
