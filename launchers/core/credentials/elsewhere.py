"""Credentials anywhere in a document: in a field that nobody reads as a place for one."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from launchers.core.catalogue import RULES
from launchers.core.credentials.search import REFERENCE_FORMS, looks_like_credential, mask
from launchers.core.model.problems import Problem


def problems_anywhere(
    document: object, path: str = "$", skip: Collection[str] = ()
) -> list[Problem]:
    """A problem for each text in ``document`` that looks like a credential, keys too.

    Args:
        document: Objects, lists and plain values, as JSON or YAML give them.
        path: Where it stands.
        skip: Paths (``$.Environment``) of what another rule looks through, with all below.
    """
    return [
        RULES["credential"].at(
            where,
            f"looks like {kind}: {mask(value)}",
            fix=f"Store it in the provider's secret manager and name it there, with --secret "
            f"NAME=REFERENCE for the script ({REFERENCE_FORMS})",
        )
        for where, kind, value in _found(document, path, "", frozenset(skip))
    ]


def masked(text: str, name: str = "") -> str:
    """``text`` for a plan or a message: a mask where it has a credential's form, also where a
    user has allowed it."""
    return mask(text) if looks_like_credential(name, text) else text


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
