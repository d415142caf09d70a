"""The values that are offered for an argument or a flag. No network, and no word of an error: what
cannot be read is not offered.

Each function is a click `shell_complete` callback, or makes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from launchers.core.provider import Provider
    from launchers.core.spec.value_types import ValueType

Offers = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]
# How a value is shown in a help -> which files a shell offers for it.
_PATHS = {
    "FILE": "file",
    "FILE[#NAME]": "file",
    "PATH": "file",
    "SCRIPT": "file",
    "DIR": "dir",
    "FOLDER": "dir",
    "DIR|TAR": "file",
}
_MOST_JOBS = 200


def jobs(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Jobs of the ledger, the newest first, each with its state."""
    from launchers.core.records.ledger import data_place
    from launchers.core.records.offered import names_beginning

    found = names_beginning(data_place() / "ledger.db", incomplete, _MOST_JOBS)
    return _begun(incomplete, dict(found))


def profiles(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The profiles of the launch.yaml that the line would read."""
    from launchers.core.reading.profiles import profile_names
    from launchers.core.spec.layers import DEFAULT_FILE

    return _begun(incomplete, profile_names(Path(context.params.get("file") or DEFAULT_FILE)))


def notify_targets(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Whom a job's end may be told."""
    return _begun(incomplete, ("desktop", "webhook:", "command:", "none"))


def rules(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The rules of all catalogues."""
    from launchers.core.catalogue import catalogues

    return _begun(
        incomplete, {one.id: one.title for room in catalogues() for one in room.own.values()}
    )


def help_words(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Topics and verbs, as the first word; a verb's own verbs are found as such."""
    from launchers.cli import topics

    if context.params.get(str(parameter.name)):
        return []
    about = {name: topics.title(name) for name in topics.names()}
    root = context.find_root()
    return [*_begun(incomplete, about), *root.command.shell_complete(root, incomplete)]


def machine_providers(
    _: click.Context, __: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The providers that have machine types."""
    from launchers.core.registry import providers_with

    return _begun(incomplete, providers_with(lambda one: one.catalogue))


def regions(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The regions of all providers."""
    from launchers.core.registry import providers_with

    known = providers_with(lambda one: one.catalogue).values()
    return _begun(incomplete, sorted({name for one in known for name in one.regions()}))


def of_field(provider: Provider, item: Field[Any], kind: ValueType) -> Offers | None:
    """What is offered for a job's flag on ``provider``; None where nobody can know it."""
    from launchers.core.spec.value_types import Choice

    catalogue = provider.catalogue
    if isinstance(kind, Choice):
        return one_of(kind.words)
    if item.name == "notify":
        return notify_targets
    if item.name == "machine" and catalogue is not None:
        return one_of(lambda: [row["machine"] for row in catalogue.machine_rows()])
    if item.name == "region" and catalogue is not None:
        return one_of(catalogue.regions)
    return of_metavar(item.metadata["metavar"])


def of_metavar(shown: str) -> Offers | None:
    """Files or folders, where a value is shown as one."""
    kind = _PATHS.get(shown.strip("[]").removesuffix("..."))
    if kind is None:
        return None

    def offered(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type=kind)]

    return offered


def one_of(words: Callable[[], Iterable[str]] | Sequence[str]) -> Offers:
    """A callback for words that are known, or are read when they are asked for."""

    def offered(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _begun(incomplete, list(words() if callable(words) else words))

    return offered


def _begun(incomplete: str, words: Mapping[str, Any] | Sequence[str]) -> list[CompletionItem]:
    """Those that begin as the word does, with a text beside each where there is one."""
    from click.shell_completion import CompletionItem

    texts = words if isinstance(words, Mapping) else {}
    found = (word for word in words if word.startswith(incomplete))
    return [
        CompletionItem(word, help=text if isinstance(text := texts.get(word), str) else None)
        for word in found
    ]
