"""Credentials anywhere in a document: in a field that nobody reads as a place for one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from launchers.core.catalogue import RULES
from launchers.core.credentials.matching import matches
from launchers.core.credentials.names import is_literal
from launchers.core.credentials.search import (
    REFERENCE_FORMS,
    flagged_arguments,
    looks_like_credential,
    mask,
)
from launchers.core.model.problems import Problem

# What may be a bare AWS secret access key.
_FORTY = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")


def problems_anywhere(
    document: object,
    path: str = "$",
    skip: Collection[str] = (),
    allowed: Collection[str] = (),
) -> list[Problem]:
    """A problem for each text in ``document`` that looks like a credential, keys too.

    Args:
        document: Objects, lists and plain values, as JSON or YAML give them.
        path: Where it stands.
        skip: Paths (``$.Environment``) of what another rule looks through, with all below.
        allowed: Names whose values may look like one (``--allow-value``).
    """
    return [
        RULES["credential"].at(
            where,
            f"looks like {kind}: {mask(value)}",
            fix=f"Store it in the provider's secret manager and name it there, with --secret "
            f"NAME=REFERENCE for the script ({REFERENCE_FORMS})",
        )
        for where, kind, value in _found(document, path, "", frozenset(skip))
        if where.rpartition(".")[2].partition("[")[0] not in allowed
    ]


def masked(text: str, name: str = "") -> str:
    """``text`` for a plan or a message: a mask where it has a credential's form, also where a
    user has allowed it."""
    return mask(text) if looks_like_credential(name, text) else text


def masked_arguments(arguments: Sequence[str]) -> list[str]:
    """``arguments`` for a reader: a mask for each value that looks like a credential."""
    values = {value for _, _, value in flagged_arguments(arguments) if value}
    return [_masked_argument(word, values) for word in arguments]


def without_credentials(text: str) -> str:
    """``text`` with a mask for each part of it that has a credential's shape by itself."""
    for found in sorted(matches(text), reverse=True):
        if found.literal is None or is_literal(found.literal):
            key = "PRIVATE KEY" in text[found.start : found.end]  # of which the start was found
            end = len(text) if key else found.end
            text = text[: found.start] + mask(text[found.start : end]) + text[end:]
    return _FORTY.sub(lambda one: masked(one.group()), text)


def _masked_argument(word: str, values: Collection[str]) -> str:
    if word in values:
        return mask(word)
    name, sign, value = word.partition("=")
    return f"{name}={mask(value)}" if sign and value in values else word


def _found(
    value: object, path: str, name: str, skip: frozenset[str]
) -> Iterator[tuple[str, str, str]]:
    if path in skip:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            text = str(key)
            kind = looks_like_credential("", text)
            if kind:
                yield f"{path}.(hidden)", kind, text
            yield from _found(inner, f"{path}.{'(hidden)' if kind else text}", text, skip)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _found(inner, f"{path}[{number}]", name, skip)
    elif isinstance(value, str):
        kind = looks_like_credential(name, value)
        if kind:
            yield path, kind, value
