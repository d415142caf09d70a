"""`launch check FILE...`: every rule, for documents that something else made."""

from __future__ import annotations

import click

from launchers.cli.document_file import job_option, strategy_option
from launchers.cli.reports import REPORTS
from launchers.cli.values import FlagType, Verb
from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_OK
from launchers.core.spec.value_types import Count


@click.command(
    "check",
    cls=Verb,
    params=[job_option(), strategy_option()],
    help="Run every rule on documents (JSON or YAML) that something else made: a SageMaker "
    "CreateTrainingJob request, a Vertex AI CustomJob, or another tool's file with one in it. "
    "Exit 2 when one fails.\n\nFILE is a name, a pattern ('jobs/**/*.json'), or - for standard "
    "input. Problems that .launch-check.yaml ignores are shown as suppressed.",
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--world-size",
    type=FlagType(Count(1, 100_000)),
    metavar="N",
    help="The world size that each should start.",
)
@click.option("--source", metavar="DIR|TAR", help="Read the document's code there as well.")
@click.option(
    "--strict",
    is_flag=True,
    help="Exit 2 as well where it cannot be told what a document starts or whether a rule holds.",
)
@click.option(
    "--report",
    "form",
    type=click.Choice(list(REPORTS)),
    help="The form of the answer: text on stderr (the default), the others on stdout.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --report json.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the report there; the text is shown besides.",
)
@click.option(
    "--ignore-file",
    metavar="FILE",
    help="What is accepted, and why. Default: .launch-check.yaml, here or above in the repository.",
)
def command(
    files: tuple[str, ...],
    world_size: int | None,
    source: str | None,
    strategy: str | None,
    job: str,
    strict: bool,
    form: str | None,
    as_json: bool,
    output: str | None,
    ignore_file: str | None,
) -> int:
    """Check the files; nothing is sent anywhere."""
    from launchers.cli.checking.run import check, write
    from launchers.cli.reports import report
    from launchers.cli.reports.text import say_report

    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --report {form}: one form at a time")
    form = "json" if as_json else form or "text"
    found = check(files, job, world_size, source, strategy, strict, ignore_file)
    if output is not None:
        say_report(found)
        write(output, report(form, found))
    elif form == "text":
        say_report(found)
    else:
        click.echo(report(form, found), nl=False)
    return EXIT_BAD_REQUEST if found.failed else EXIT_OK
