"""`launch status JOB`."""

from __future__ import annotations

import click

from launchers.cli.jobs.follow import say_end, summary
from launchers.cli.jobs.lookup import found_job, region_flag
from launchers.cli.show.output import answer, tell
from launchers.core.planning.plan import counted


@click.command("status", help="Show a job's state.")
@click.argument("job", metavar="JOB")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
@region_flag
def command(job: str, region: str | None, as_json: bool) -> int:
    """Ask the job's provider; 0 when it could answer, whatever the state."""
    chosen, entry = found_job(job, region)
    status = chosen.service.describe(entry.handle)
    if as_json:
        answer(summary(entry.handle, status))
        return 0
    if status.final:
        tell(f"{status.state}  {entry.name}")
        say_end(chosen, entry.handle, status)
    else:
        proof = status.proof or "not proven yet"
        ranks = counted(status.details.get("world_size") or entry.world_size, "rank")
        tell(f"{status.state}  {entry.name}  {ranks}, {proof}")
        for text in filter(None, (status.reason, status.details.get("doing"))):
            tell(f"  {text}")
    return 0
