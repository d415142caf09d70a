"""`launch schema`."""

from __future__ import annotations

import click

from launchers.cli.answers.catalogue import ANSWERS
from launchers.cli.catalogue import RULES
from launchers.cli.show.output import answer
from launchers.cli.show.table import table
from launchers.cli.verb import Verb
from launchers.core.model.problems import LaunchError, Problem, did_you_mean

_LAUNCH_YAML = "launch.yaml"


@click.command(
    "schema",
    cls=Verb,
    examples=("launch schema > launch.schema.json", "launch schema status"),
    help="Print the JSON schema of launch.yaml, for editors, or that of the --json ANSWER of a "
    "verb.",
)
@click.argument("name", metavar="[ANSWER]", required=False)
@click.option("--list", "names", is_flag=True, help="List the names of all answers.")
@click.option(
    "--json", "as_json", is_flag=True, help="Accepted everywhere; a schema is JSON anyway."
)
def command(name: str | None, names: bool, as_json: bool) -> int:
    """Print to stdout."""
    if names:
        if as_json:
            answer({key: given_by for key, (_, given_by) in ANSWERS.items()})
        else:
            table(["ANSWER", "OF"], [(key, one.given_by) for key, one in ANSWERS.items()])
        return 0
    if name in (None, _LAUNCH_YAML):
        from launchers.core.reading.job_file import schema as schema_of_file

        answer(schema_of_file())
        return 0
    if name not in ANSWERS:
        raise LaunchError(_unknown(name))
    from launchers.cli.answers.schema import schema

    answer(schema(name))
    return 0


def _unknown(name: str) -> Problem:
    hint = did_you_mean(name, ANSWERS) or "`launch schema --list` shows them"
    return RULES["schema-unknown"].at("ANSWER", name, fix=hint)
