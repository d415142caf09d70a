"""`launch schema`."""

from __future__ import annotations

import click

from launchers.cli.show.output import answer


@click.command("schema", help="Print the JSON schema of launch.yaml, for editors.")
def command() -> int:
    """Print to stdout."""
    from launchers.core.reading.job_file import schema

    answer(schema())
    return 0
