"""`launch rehearsals`: what rehearsals have in Docker and on this machine, and removing it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from launchers.cli.show.output import answer, say
from launchers.cli.show.table import table
from launchers.cli.verb import Verb
from launchers.core.model.problems import EXIT_JOB_DID_NOT_SUCCEED, EXIT_OK
from launchers.core.planning.plan import counted
from launchers.core.times import iso_time

if TYPE_CHECKING:
    from launchers.cli.answers.rehearsals import Leftover


@click.command(
    "rehearsals",
    cls=Verb,
    examples=(
        "launch rehearsals",
        "launch rehearsals --clean",
    ),
    help="List the containers, networks and folders of rehearsals. What is left over is of a "
    "launcher that was killed; the next rehearsal removes it, and so does --clean.",
)
@click.option("--clean", is_flag=True, help="Remove what is left over; running ones stay.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="With --clean: also what launchers of other machines started in this engine.",
)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def command(clean: bool, everything: bool, as_json: bool) -> int:
    """List, or remove what is left over."""
    from launchers.docker.engine import connected
    from launchers.rehearsal.engine import leftovers

    with connected() as client:
        found = leftovers.rehearsals(client)
        states = ("left over", "unknown") if everything else ("left over",)
        chosen = [item for item in found if item.state in states]
        failed = leftovers.clean(client, chosen) if clean else []
    if as_json:
        answer([_fields(item) for item in (chosen if clean else found)])
    elif clean:
        say(f"removed {len(chosen)}" if chosen else "nothing is left over")
    else:
        _say(found)
    for text in failed:
        say(f"could not remove {text}")
    return EXIT_JOB_DID_NOT_SUCCEED if failed else EXIT_OK


def _say(found: list[Any]) -> None:
    if not found:
        say("no rehearsal runs, and nothing of one is left")
        return
    rows = [
        [
            item.labels.id,
            item.state,
            item.labels.job,
            time.strftime("%Y-%m-%d %H:%M", time.localtime(item.labels.started)),
            ", ".join(
                (
                    counted(len(item.containers), "container"),
                    counted(len(item.networks), "network"),
                    counted(len(item.folders), "folder"),
                )
            ),
        ]
        for item in found
    ]
    columns = ("ID", "STATE", "JOB", "STARTED", "HAS")
    table(columns, rows, may_go=("STARTED", "HAS"), prose="HAS")


def _fields(item: Any) -> Leftover:
    return {
        "id": item.labels.id,
        "state": item.state,
        "job": item.labels.job,
        "started": iso_time(item.labels.started),
        "containers": sorted(item.containers.values()),
        "networks": sorted(item.networks.values()),
        "folders": [str(folder) for folder in item.folders],
    }
