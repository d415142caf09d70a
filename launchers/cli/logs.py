"""`launch logs JOB`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from launchers.cli.follow import Screen
from launchers.cli.jobs import found_job, region_flag
from launchers.core.logs import JobWatch
from launchers.core.problems import LaunchError, Problem


@click.command("logs", help="Print a job's lines, of all ranks or of one.")
@click.argument("job", metavar="JOB")
@click.option("--rank", metavar="R", help="Everything that this rank printed.")
@click.option("--follow", "-f", is_flag=True, help="Go on until the job ends.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@region_flag
def command(job: str, region: str | None, rank: str | None, follow: bool, as_json: bool) -> int:
    """Print to stdout; 0 when the lines could be read."""
    if rank is not None and not rank.isdecimal():
        raise LaunchError(Problem("--rank", rank, "a rank's number, from 0", rule="flag-value"))
    chosen, entry = found_job(job, region)
    number = int(rank) if rank is not None else None
    screen, watch = Screen(), JobWatch()
    for line in chosen.logs(entry.handle, follow=follow, rank=number):
        if as_json:
            print(json.dumps(asdict(line), ensure_ascii=False), flush=follow)
            continue
        if number is not None:
            print(line.text, flush=follow)
            continue
        watch.see(line)
        screen.show(line, watch)
    screen.end()
    return 0
