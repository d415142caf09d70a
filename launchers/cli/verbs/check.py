"""`launch check FILE...`: every rule, for documents that something else made."""

from __future__ import annotations

from functools import partial

import click

from launchers.cli.completion.values import of_metavar
from launchers.cli.document_file import job_option, strategy_option
from launchers.cli.failures import show_traceback
from launchers.cli.reports import REPORTS
from launchers.cli.show.output import answer, give_out
from launchers.cli.values import FlagType
from launchers.cli.verb import Flag, Verb
from launchers.core.spec.value_types import Count


@click.command(
    "check",
    cls=Verb,
    examples=(
        "launch check job.json",
        "launch check 'jobs/**/*.yaml' --world-size 8 --strict",
    ),
    params=[job_option(), strategy_option()],
    help="Run every rule on documents (JSON or YAML) that something else made: a SageMaker "
    "CreateTrainingJob request, a Vertex AI CustomJob, a request of `launch spark`, or another "
    "tool's file with one in it. Exit 2 when one fails.\n\nFILE is a name, a pattern "
    "('jobs/**/*.json'), or - for standard input. Problems that .launch-check.yaml ignores are "
    "shown as suppressed.",
)
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, shell_complete=of_metavar("FILE")
)
@click.option(
    "--world-size",
    cls=Flag,
    group="what",
    type=FlagType(Count(1, 100_000)),
    metavar="N",
    help="The world size that each should start.",
)
@click.option(
    "--source",
    cls=Flag,
    group="what",
    metavar="DIR|TAR",
    help="Read the document's code there as well.",
)
@click.option(
    "--strict",
    cls=Flag,
    group="safety",
    is_flag=True,
    help="Exit 2 as well where it cannot be told what a document starts or whether a rule holds.",
)
@click.option(
    "--report",
    "form",
    cls=Flag,
    group="output",
    type=click.Choice(list(REPORTS)),
    help="The form of the answer: text on stderr (the default), the others on stdout.",
)
@click.option(
    "--json",
    "as_json",
    cls=Flag,
    group="output",
    is_flag=True,
    help="The same as --report json.",
)
@click.option(
    "-o",
    "--output",
    cls=Flag,
    group="output",
    metavar="FILE",
    help="Write the report to FILE, and also show the text (with --json, the report).",
)
@click.option(
    "--ignore-file",
    cls=Flag,
    group="safety",
    metavar="FILE",
    help="The file of accepted problems. Default: .launch-check.yaml, here or in a parent folder.",
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
    from launchers.cli.reports import report, without_credentials
    from launchers.cli.reports.as_json import answer_of
    from launchers.cli.reports.text import say_report

    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --report {form}: one form at a time")
    form = "json" if as_json else form or "text"
    words: list[str] = click.get_current_context().obj["words"]
    on_defect = partial(show_traceback, words=words)
    found = check(files, job, world_size, source, strategy, strict, ignore_file, on_defect)
    if output is not None:
        write(output, report(form, found))
    if output is not None or form == "text":
        say_report(found)
    if form == "json":
        answer(answer_of(without_credentials(found)))
    elif output is None and form != "text":
        give_out(report(form, found))
    return found.exit_code
