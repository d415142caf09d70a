"""A document that something else made, from a file: what it says, and whose it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from launchers.cli.catalogue import RULES
from launchers.cli.verb import Flag
from launchers.core.model.jobs import Examined
from launchers.core.model.problems import LaunchError
from launchers.core.paths import entrypoints_folder
from launchers.core.provider import Provider
from launchers.core.reading.documents import Spec, read_specs
from launchers.core.registry import provider
from launchers.core.spec.job import SHARED_SCRIPT, STRATEGIES
from launchers.core.strategies import is_another

if TYPE_CHECKING:
    from launchers.core.analysis.document_source import DocumentSource


def strategy_option() -> click.Option:
    """`--strategy`, for a document whose source is read."""
    return Flag(
        ["--strategy"],
        group="what",
        type=click.Choice(STRATEGIES),
        help="What makes the ranks train together. Default: read from --source.",
    )


def source_of(found: Examined, source: str | None) -> str | None:
    """The folder or tar of the document's code: `--source`, or that of the shared script."""
    if source is None and found.script == SHARED_SCRIPT:
        return str(entrypoints_folder())
    return source


def told_by_source(
    found: Examined, source: str | None, strategy: str | None, known: dict[str, DocumentSource]
) -> Examined:
    """What a document starts and breaks, by what its source shows as well.

    Args:
        source: ``--source``.
        known: The sources that have been read; what is read now is added.

    Raises:
        LaunchError: The source is neither a folder nor a tar.
    """
    where = source_of(found, source)
    if where is None:
        return found.without_horovod() if is_another(strategy) else found
    from launchers.core.analysis.document_source import DocumentSource, with_source

    return with_source(found, known.setdefault(where, DocumentSource(where)), strategy)


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
    return Flag(
        ["--job"],
        group="what",
        default="",
        metavar="PATH",
        help="Which job to take if the file has several ($.States.Train).",
    )
