"""`launch machines`: what each provider's machines have."""

from __future__ import annotations

import click

from launchers.cli.catalogue import RULES
from launchers.cli.completion import values
from launchers.cli.show.output import answer, say
from launchers.cli.show.table import table
from launchers.cli.values import FlagType
from launchers.cli.verb import Verb
from launchers.core.model.problems import LaunchError, did_you_mean
from launchers.core.registry import providers_with
from launchers.core.spec.value_types import Count


@click.command(
    "machines",
    cls=Verb,
    examples=(
        "launch machines --gpus 4",
        "launch machines --provider vertex",
    ),
    help="Show the machine types: GPUs, memory, vCPU, EFA.",
)
@click.option(
    "--provider",
    "name",
    default="sagemaker",
    metavar="NAME",
    shell_complete=values.machine_providers,
    help="sagemaker (the default) or vertex.",
)
@click.option(
    "--gpus",
    type=FlagType(Count(0, 128)),
    metavar="G",
    help="Only those with exactly this many GPUs.",
)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def command(name: str, gpus: int | None, as_json: bool) -> int:
    """Print the table; the default for a GPU count is marked."""
    known = providers_with(lambda one: one.catalogue)
    if name not in known:
        raise LaunchError(
            RULES["provider-unknown"].at(
                "--provider", name, "one of " + ", ".join(known), did_you_mean(name, known)
            )
        )
    rows = known[name].machine_rows(gpus)
    if as_json:
        answer(rows)
    elif rows:
        table(
            [_heading(key) for key in rows[0]],
            [[_cell(value) for value in row.values()] for row in rows],
            may_go=[_heading(key) for key in known[name].may_go],
        )
    else:
        say(f"no machine has exactly {gpus} GPUs")
    return 0


def _heading(key: str) -> str:
    return key.upper().replace("_GIB", " GiB").replace("_GB", " GB").replace("_", " ")


def _cell(value: str | int | float | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:g}" if isinstance(value, float) else str(value)
