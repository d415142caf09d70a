"""Finds the specs in what was read: in a document itself, in a list of them, in their wrappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError
from launchers.core.model.unknown import Unknown
from launchers.core.wrappings.places import Places, joined
from launchers.core.wrappings.spec import Spec, Wrapping
from launchers.core.wrappings.texts import with_unknowns

# A definition in a template in a plan: no document of a tool goes deeper.
_DEEPEST = 12
# More jobs than any tool keeps in a file.
_MOST = 10_000
# Entries that are looked at, and kinds of them that are told, where none holds a job.
_FEW, _MOST_TOLD = 20, 4


class Recogniser(Protocol):
    """The part of a provider's Reader that is asked here."""

    @property
    def wrappings(self) -> Sequence[Wrapping]:
        """See :class:`launchers.core.roles.Reader`."""

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """See :class:`launchers.core.roles.Reader`."""


@dataclass(frozen=True)
class Finder:
    """Looks for specs.

    Attributes:
        readers: By the name of their provider.
        unknown: Takes a value of a plain document for one that is not known here.
    """

    readers: Mapping[str, Recogniser]
    unknown: Callable[[Any], Unknown | None] = lambda value: None

    def specs(self, node: Any, place: str = "$", depth: int = 0) -> list[Spec] | None:
        """The specs in ``node``, which lies at ``place``; None where it is nothing that is known.

        Raises:
            LaunchError: A text in a tool's document cannot be parsed.
        """
        if depth > _DEEPEST:
            return None
        if isinstance(node, list):
            return self._in_list(node, place, depth)
        if not isinstance(node, Mapping) or not node:
            return None

        def look(part: Any, where: str) -> list[Spec] | None:
            return self.specs(part, where, depth + 1)

        for reader in self.readers.values():
            for wrapping in reader.wrappings:
                found = wrapping.specs(node, place, look)
                if found:
                    return list(found)
        for name, reader in self.readers.items():
            if reader.recognises(node):
                return [Spec(name, with_unknowns(node, self.unknown), Places(place))]
        return None

    def lacking(self, node: Any) -> str:
        """What a document is that some wrapping knows and in which no spec is; empty for none."""
        if not isinstance(node, Mapping):
            parts = node[:_FEW] if isinstance(node, list) else []
            told = dict.fromkeys(filter(None, map(self.lacking, parts)))
            return "; ".join([*told][:_MOST_TOLD])
        wrappings = [one for reader in self.readers.values() for one in reader.wrappings]
        return next(filter(None, (one.lacking(node) for one in wrappings)), "")

    def _in_list(self, items: list[Any], place: str, depth: int) -> list[Spec] | None:
        """Those of the entries, where there are any: a list of requests, or of resources of which
        some are of interest."""
        if len(items) > _MOST:
            found_there, most = f"{len(items)} entries", f"at most {_MOST} to look for jobs in"
            raise LaunchError(RULES["file-too-large"].at(place, found_there, most))
        found: list[Spec] = []
        for index, item in enumerate(items):
            found += self.specs(item, joined(place, index), depth + 1) or []
        return found or None


def nested(finder: Finder, root: Any) -> str:
    """The place of the first part that holds a spec, somewhere in a document that nothing knows;
    empty for none."""
    way = _way(finder, root, "$", 0)
    return next((where for where, part in way if _holds(finder, part, where)), "")


def _way(finder: Finder, node: Any, place: str, depth: int) -> list[tuple[str, Any]]:
    """What leads to the first part that looks like a spec by itself, and that part, each with its
    place; empty for none."""
    if depth > _DEEPEST:
        return []
    if isinstance(node, Mapping):
        parts = [(joined(place, str(key)), part) for key, part in node.items()]
    elif isinstance(node, list):
        parts = [(joined(place, index), part) for index, part in enumerate(node)]
    else:
        return []
    for where, part in parts:
        if isinstance(part, Mapping) and any(
            reader.recognises(part) for reader in finder.readers.values()
        ):
            return [(where, part)]
        inner = _way(finder, part, where, depth + 1)
        if inner:
            return [(where, part), *inner]
    return []


def _holds(finder: Finder, part: Any, place: str) -> bool:
    try:
        return bool(finder.specs(part, place))
    except LaunchError:  # of a text in it, which is told when it is meant
        return False
