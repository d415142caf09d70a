"""A document that something else made, from a file: what it says, and whose it is."""

from __future__ import annotations

from typing import Any

import click

from launchers.cli.catalogue import RULES
from launchers.core.model.jobs import Examined
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.paths import entrypoints_folder
from launchers.core.provider import Provider, Reader
from launchers.core.reading.text_file import read_json_or_yaml
from launchers.core.registry import provider, providers_with
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


def read_document(file: str) -> tuple[Provider, Reader, dict[str, Any]]:
    """The document in ``file``, JSON or else YAML, the provider whose it is and what reads it.

    Args:
        file: A path, or ``-`` for standard input.

    Raises:
        LaunchError: It cannot be read, or is no object of a provider that we know.
    """
    document = read_json_or_yaml(file)
    if not isinstance(document, dict) or not document:
        found = "nothing" if document in (None, {}) else type(document).__name__
        raise LaunchError(RULES["file-shape"].at(file, found, f"an object: {_known()}"))
    for name, reader in _readers().items():
        if reader.recognises(document):
            return provider(name), reader, document
    keys = ", ".join(str(key) for key in list(document)[:4])
    raise LaunchError(RULES["file-shape"].at(file, f"the keys {keys}", _known()))


def _known() -> str:
    return " or ".join(f"a {reader.document_title}" for reader in _readers().values())


def _readers() -> dict[str, Reader]:
    return providers_with(lambda one: one.reader)
