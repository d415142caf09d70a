"""`launch logs JOB`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from launchers.cli.catalogue import RULES
from launchers.cli.completion import values
from launchers.cli.jobs.follow import goes_on
from launchers.cli.jobs.lookup import found_job, region_flag
from launchers.cli.show.output import say
from launchers.cli.show.screen import Screen
from launchers.cli.verb import Verb
from launchers.core.model.jobs import LogLine
from launchers.core.model.problems import LaunchError
from launchers.core.output.lines import JobWatch, shown, tag
from launchers.core.planning.plan import counted
from launchers.core.printable import printable_json
from launchers.core.times import iso_time

if TYPE_CHECKING:
    from launchers.cli.answers.jobs import LineAnswer


@click.command(
    "logs",
    cls=Verb,
    examples=(
        "launch logs train-5c1f9e02 --follow",
        "launch logs train-5c1f9e02 --rank 3",
    ),
    help="Print a job's lines, of all ranks or of one.",
)
@click.argument("job", metavar="JOB", shell_complete=values.jobs)
@click.option("--rank", metavar="R", help="Only the lines of this rank.")
@click.option("--follow", "-f", is_flag=True, help="Go on until the job ends.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option(
    "--raw",
    is_flag=True,
    help="Every line as it was printed, escape sequences, TensorFlow's start-up lines and the "
    "launcher's own lines included.",
)
@region_flag
def command(
    job: str, region: str | None, rank: str | None, follow: bool, as_json: bool, raw: bool
) -> int:
    """Print to stdout; 0 when the lines could be read."""
    if rank is not None and not rank.isdecimal():
        raise LaunchError(RULES["flag-value"].at("--rank", rank, "a rank's number, from 0"))
    chosen, entry = found_job(job, region)
    number = int(rank) if rank is not None else None
    watch = JobWatch(without_gpus=chosen.service.without_gpus(entry.handle))
    bare = number is not None
    watched = None if raw or as_json or bare else watch
    lines = chosen.service.logs(entry.handle, follow=follow, rank=number, watch=watched)
    try:
        if raw:
            count = _print_raw(lines, as_json, bare, follow)
        else:
            screen = Screen(contract=chosen.contract, verdict_follows=False)
            count = _print(lines, watch, screen, as_json, bare, follow)
    except KeyboardInterrupt:
        if not follow or not chosen.charges_money or entry.final:
            raise
        return goes_on(entry.handle)
    if not count:
        whose = f"of rank {rank}" if rank is not None else "of the job"
        more = "" if follow or entry.final else " yet; --follow waits for more"
        say(f"no line {whose} is there{more}")
    return 0


def _print(
    lines: Iterator[LogLine],
    watch: JobWatch,
    screen: Screen,
    as_json: bool,
    bare: bool,
    flush: bool,
) -> int:
    """Gives how many there were."""
    count = 0
    try:
        for count, line in enumerate(lines, 1):  # noqa: B007 - asked for at the end
            if not as_json and not bare:
                screen.show(line, watch)
            elif (visible := shown(line, watch.without_gpus)) is not None:
                text = printable_json(_as_json(visible)) if as_json else visible.text
                print(text, flush=flush)
    finally:
        screen.end(watch)
    if screen.left_out:
        say(f"{counted(screen.left_out, 'line')} of {screen.whose} left out; --raw has them")
    return count


def _print_raw(lines: Iterator[LogLine], as_json: bool, bare: bool, flush: bool) -> int:
    """As they are, byte by byte where the provider has the bytes."""
    count = 0
    for count, line in enumerate(lines, 1):  # noqa: B007 - asked for at the end
        if as_json:
            text = json.dumps(_as_json(line))
        else:
            label = "" if bare else tag(line)
            text = f"{label} {line.text}" if label else line.text
        sys.stdout.buffer.write(_bytes(text) + b"\n")
        if flush:
            sys.stdout.buffer.flush()
    return count


def _as_json(line: LogLine) -> LineAnswer:
    moment = iso_time(line.time or None)
    return {"time": moment, "host": line.host, "rank": line.rank, "text": line.text}


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, which a service's JSON may hold
        return text.encode("utf-8", "backslashreplace")
