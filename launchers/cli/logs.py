"""`launch logs JOB`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

import click

from launchers.cli.follow import Screen, goes_on
from launchers.cli.jobs import found_job, region_flag
from launchers.cli.output import say
from launchers.core.logs import JobWatch, shown
from launchers.core.problems import LaunchError, Problem
from launchers.core.provider import LogLine


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
    lines = chosen.logs(entry.handle, follow=follow, rank=number)
    try:
        count = _print(lines, as_json, number is not None, follow)
    except KeyboardInterrupt:
        if not follow or not chosen.once or entry.final:
            raise
        return goes_on(entry.handle)
    if not count:
        whose = f"of rank {rank}" if rank is not None else "of the job"
        more = "" if follow or entry.final else " yet; --follow waits for more"
        say(f"no line {whose} is there{more}")
    return 0


def _print(lines: Iterator[LogLine], as_json: bool, bare: bool, flush: bool) -> int:
    """Gives how many there were."""
    screen, watch, count = Screen(), JobWatch(), 0
    try:
        visible = filter(None, map(shown, lines))
        for count, line in enumerate(visible, 1):  # noqa: B007 - asked for at the end
            if as_json:
                print(json.dumps(asdict(line), ensure_ascii=False), flush=flush)
            elif bare:
                print(line.text, flush=flush)
            else:
                watch.see(line)
                screen.show(line, watch)
    finally:
        screen.end()
    return count
