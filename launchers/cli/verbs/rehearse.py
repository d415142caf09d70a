"""`launch rehearse FILE`: a document that something else made, in containers on this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from launchers.cli.catalogue import RULES
from launchers.cli.completion.values import of_metavar
from launchers.cli.document_file import (
    job_option,
    read_document,
    source_of,
    strategy_option,
    told_by_source,
)
from launchers.cli.jobs.rehearse import (
    given_options,
    rehearsal_flags,
    rehearse_and_say,
    verbose_flag,
)
from launchers.cli.show.output import say, say_problems
from launchers.cli.values import FlagType
from launchers.cli.verb import Flag, Verb
from launchers.core.analysis.strategy_reader import AUTO
from launchers.core.model.problems import EXIT_BAD_REQUEST, LaunchError, Problem, errors
from launchers.core.model.unknown import as_text, unknowns_in
from launchers.core.reading.documents import examine, open_size
from launchers.core.spec.value_types import Count, Text
from launchers.core.strategies import FIRST

if TYPE_CHECKING:
    from launchers.core.analysis.document_source import DocumentSource


def _command(**values: Any) -> int:
    chosen, spec = read_document(values["file"], values["job"])
    options = given_options(values)
    examined = examine(spec, options.world_size)
    sources: dict[str, DocumentSource] = {}
    found = told_by_source(examined, options.source, values["strategy"], sources)
    if open_size(spec):
        raise LaunchError(_open_size(values["file"], open_size(spec)))
    unlike = chosen.contract.unlike(found.definition) if chosen.contract is not None else ""
    if unlike:
        raise LaunchError(RULES["rehearsal-start"].at(values["file"], unlike))
    if not found.definition.world_size:
        raise LaunchError([*errors(list(found.problems)), _no_world_size(found.because)])
    options = replace(options, source=source_of(found, options.source))
    problems = list(found.problems)
    say_problems(problems)
    failed = errors(problems)
    if failed and not values["despite_problems"]:
        say(f"{len(failed)} rules fail; --despite-problems rehearses it all the same")
        return EXIT_BAD_REQUEST
    for steps, unknown in unknowns_in(spec.document):
        say(f"{spec.places.of_steps(steps)}: {unknown} is rehearsed as the text that stands there")
    definition = replace(
        found.definition,
        document=as_text(found.definition.document),
        strategy=found.definition.strategy or _foreign(values["strategy"]),
    )
    # The one that was read says what the ranks run, where the document names it.
    read = sources.values() if found.program else ()
    facts = next((source.facts(found.program) for source in read), None)
    return rehearse_and_say(
        chosen, definition, None, options, values["as_json"], facts, values["verbose"]
    )


command = Verb(
    "rehearse",
    callback=_command,
    params=[
        click.Argument(["file"], metavar="FILE", shell_complete=of_metavar("FILE")),
        Flag(
            ["--source"],
            group="what",
            type=FlagType(Text()),
            metavar="DIR|TAR",
            help="Where the document's code is on this machine.",
        ),
        Flag(
            ["--world-size", "world_size"],
            group="what",
            type=FlagType(Count(1, 100_000)),
            metavar="N",
            help="The world size that it should start, where the document does not say.",
        ),
        job_option(),
        strategy_option(),
        Flag(
            ["--despite-problems"],
            group="safety",
            is_flag=True,
            help="Rehearse although rules fail.",
        ),
        *rehearsal_flags(rare=False),
        verbose_flag(),
        Flag(
            ["--json", "as_json"],
            group="output",
            is_flag=True,
            help="The answer as JSON on stdout.",
        ),
    ],
    examples=("launch rehearse job.json --source src --world-size 8",),
    help="Run a document (JSON or YAML) that something else made, a SageMaker CreateTrainingJob "
    "request or a Vertex AI CustomJob, in containers on this machine as the service would, and "
    "prove its world size. FILE may be - for standard input.",
    context_settings={"max_content_width": 100},
)


def _foreign(strategy: str | None) -> str:
    """By what the ranks of a document that does not say it join: `--strategy`, else Horovod."""
    return strategy if strategy and strategy not in (AUTO, FIRST) else ""


def _no_world_size(because: str) -> Problem:
    return RULES["world-size"].at(
        "--world-size",
        "missing",
        "the world size that the document should start",
        f"cannot tell what it starts: {because or 'the document does not say'}",
    )


def _open_size(file: str, why: str) -> Problem:
    return RULES["world-size"].at(
        file, why, "hosts and ranks that are known", "write the values there, and rehearse that"
    )
