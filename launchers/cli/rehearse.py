"""`launch rehearse FILE`: a document that something else made, in containers on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from launchers.cli.check import read_document
from launchers.cli.output import say, say_problems
from launchers.cli.rehearsal import given_options, rehearsal_flags, rehearse_and_say
from launchers.core.job import SHARED_SCRIPT
from launchers.core.problems import EXIT_BAD_REQUEST, LaunchError, Problem, errors
from launchers.core.provider import JobDefinition, provider
from launchers.core.render import document_text

# provider -> keys of which its documents have at least one
_SIGNS = {"sagemaker": ("AlgorithmSpecification", "TrainingJobName", "HyperParameters")}


def _command(**values: Any) -> int:
    document = read_document(values["file"])
    name = _provider_of(document, values["file"])
    options = given_options(values)
    chosen: Any = provider(name)
    problems, world_size = _checked(document, options.world_size)
    say_problems(problems)
    failed = errors(problems)
    if failed and not values["despite_problems"]:
        say(f"{len(failed)} rules fail; --despite-problems rehearses it all the same")
        return EXIT_BAD_REQUEST
    definition = JobDefinition(
        provider=name,
        name=str(document.get("TrainingJobName", "job")),
        world_size=world_size,
        text=document_text(document),
        document=document,
    )
    options = _with_shared_source(options, document)
    return rehearse_and_say(chosen, definition, None, options, values["as_json"])


command = click.Command(
    "rehearse",
    callback=_command,
    params=[
        click.Argument(["file"], metavar="FILE"),
        click.Option(
            ["--source"], metavar="DIR|TAR", help="Where the document's code is on this machine."
        ),
        click.Option(
            ["--world-size", "world_size"],
            metavar="N",
            help="The world size that is meant, where the document does not say.",
        ),
        click.Option(["--despite-problems"], is_flag=True, help="Rehearse although rules fail."),
        *rehearsal_flags(),
        click.Option(["--json", "as_json"], is_flag=True, help="The answer as JSON on stdout."),
    ],
    help="Run a CreateTrainingJob document (JSON or YAML) in containers on this machine, the way "
    "the service would, and prove its world size. FILE may be - for standard input.",
    context_settings={"max_content_width": 100},
)


def _provider_of(document: Mapping[str, Any], file: str) -> str:
    for name, keys in _SIGNS.items():
        if any(key in document for key in keys):
            return name
    raise LaunchError(
        Problem(
            file,
            "keys " + ", ".join(list(document)[:4]),
            "a CreateTrainingJob request",
            rule="file-shape",
        )
    )


def _checked(document: dict[str, Any], expected: int | None) -> tuple[list[Problem], int]:
    """Every rule that fails, and the world size that the ranks must prove."""
    from launchers.core.document import at, whole_number
    from launchers.sagemaker.rules import check
    from launchers.sagemaker.rules_world_size import started_world_size

    carried = whole_number(at(document, "Environment", "LAUNCH_WORLD_SIZE"))
    meant = carried or expected or started_world_size(document)
    if meant is None:
        raise LaunchError(
            Problem(
                "--world-size",
                "missing",
                "the world size that is meant",
                "the document does not say how many ranks it starts",
                rule="world-size",
            )
        )
    return check(document, expected), meant


def _with_shared_source(options: Any, document: Mapping[str, Any]) -> Any:
    """The shared training script's folder is known, so ``--source`` may be left out for it."""
    from dataclasses import replace

    from launchers.core.paths import entrypoints_folder
    from launchers.sagemaker.document import LAUNCH_SCRIPT, hyperparameter

    if options.source is None and hyperparameter(document, LAUNCH_SCRIPT) == SHARED_SCRIPT:
        return replace(options, source=str(entrypoints_folder()))
    return options
