"""`launch check FILE`: every rule, for a document that something else made."""

from __future__ import annotations

import click

from launchers.cli.document_file import (
    job_option,
    problems_of_source,
    read_document,
    strategy_option,
)
from launchers.cli.show.output import answer, say, say_problems
from launchers.cli.values import FlagType, Verb
from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_OK, errors
from launchers.core.reading.documents import examine
from launchers.core.spec.value_types import Count


@click.command(
    "check",
    cls=Verb,
    params=[job_option(), strategy_option()],
    help="Run every rule on a document (JSON or YAML) that something else made: a SageMaker "
    "CreateTrainingJob request, a Vertex AI CustomJob. Exit 2 when one fails. FILE may be - for "
    "standard input.",
)
@click.argument("file", metavar="FILE")
@click.option(
    "--world-size",
    type=FlagType(Count(1, 100_000)),
    metavar="N",
    help="The world size that it should start.",
)
@click.option("--source", metavar="DIR|TAR", help="Read the document's code there as well.")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def command(
    file: str,
    world_size: int | None,
    source: str | None,
    strategy: str | None,
    job: str,
    as_json: bool,
) -> int:
    """Check one file; nothing is sent anywhere."""
    chosen, spec = read_document(file, job)
    found = examine(spec, world_size)
    problems = [*found.problems, *problems_of_source(found, source, strategy)]
    failed = errors(problems)
    if as_json:
        answer(
            {
                "file": file,
                "provider": chosen.name,
                "world_size": found.started,
                "because": found.because,
                "ok": not failed,
                "problems": [problem.as_dict() for problem in problems],
            }
        )
    else:
        say_problems(problems)
        verdict = f"{len(failed)} errors" if failed else "no errors"
        say(f"{file}: {verdict}, {len(problems) - len(failed)} warnings; {found.answer}")
    return EXIT_BAD_REQUEST if failed else EXIT_OK
