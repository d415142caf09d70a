"""A document that something else made, from a file: what it says, and whose it is."""

from __future__ import annotations

import click

from launchers.cli.catalogue import RULES
from launchers.core.model.jobs import Examined
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.paths import entrypoints_folder
from launchers.core.provider import Provider
from launchers.core.reading.documents import Spec, read_specs
from launchers.core.registry import provider
from launchers.core.spec.job import SHARED_SCRIPT, STRATEGIES


def strategy_option() -> click.Option:
    """`--strategy`, for a document whose source is read."""
    return click.Option(
        ["--strategy"],
        type=click.Choice(STRATEGIES),
        help="What makes the ranks train together. Default: read from --source.",
    )


def source_of(found: Examined, source: str | None) -> str | None:
    """The folder or tar of the document's code: `--source`, or that of the shared script."""
    if source is None and found.script == SHARED_SCRIPT:
        return str(entrypoints_folder())
    return source


def problems_of_source(found: Examined, source: str | None, strategy: str | None) -> list[Problem]:
    """What the document's source says about its ranks; nothing where it is not given.

    Raises:
        LaunchError: It is neither a folder nor a tar.
    """
    where = source_of(found, source)
    if where is None:
        return []
    from launchers.core.analysis.document_source import source_problems

    return source_problems(found, where, strategy)


def told_by_source(found: Examined, source: str | None, strategy: str | None = None) -> Examined:
    """What a document starts, by what its source shows as well.

    Raises:
        LaunchError: The source is neither a folder nor a tar.
    """
    if source is None or not (found.alone or found.copies):
        return found
    from launchers.core.analysis.document_source import with_source

    return with_source(found, source, strategy)


def read_document(file: str, job: str = "") -> tuple[Provider, Spec]:
    """The one job's spec in ``file``, JSON or else YAML, and the provider whose it is.

    Args:
        file: A path, or ``-`` for standard input.
        job: The place of the one that is meant, where there are several (``--job``).

    Raises:
        LaunchError: It cannot be read, holds none that we know, or several.
    """
    found = read_specs(file, job)
    if len(found) > 1:
        places = ", ".join(spec.place for spec in found[:8])
        fix = f"--job '{found[0].place}' takes the first of {places}"
        raise LaunchError(RULES["job-place"].at(file, f"{len(found)} jobs", "one job", fix))
    return provider(found[0].provider), found[0]


def job_option() -> click.Option:
    """`--job`, for a file with several."""
    return click.Option(
        ["--job"],
        default="",
        metavar="PATH",
        help="Where the job lies in the file ($.States.Train), of several.",
    )
