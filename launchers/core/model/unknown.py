"""A value of a document that is not known here: another tool fills it in before the job is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Unknown:
    """Stands where a parameter, a reference or an expression of another tool stands.

    It is of no type, so that no rule about a type, a pattern or a number takes it for a value.

    Attributes:
        text: What stands there, short: ``$.hosts``, ``!Ref Hosts``, ``Parameters.Hosts``.
    """

    text: str

    def __str__(self) -> str:
        return self.text


def unknowns_in(
    value: Any, steps: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Unknown]]:
    """Every unknown in a document, with the keys and indices that lead to it."""
    if isinstance(value, Unknown):
        yield steps, value
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from unknowns_in(entry, (*steps, key))
    elif isinstance(value, (list, tuple)):
        for index, entry in enumerate(value):
            yield from unknowns_in(entry, (*steps, index))


def as_text(value: Any) -> Any:
    """``value`` with the text of each unknown in its place."""
    if isinstance(value, Unknown):
        return value.text
    if isinstance(value, Mapping):
        return {key: as_text(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_text(entry) for entry in value]
    return value
