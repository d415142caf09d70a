"""A field of a job as its user gives it: a flag, a key of launch.yaml, and what both say of it."""

from __future__ import annotations

from dataclasses import MISSING, Field, field, fields
from typing import Any

from launchers.core.spec.value_types import ValueType

# What a flag is about, and the heading above it in a verb's help; in the help's order.
GROUPS = {
    "what": "What runs",
    "where": "Where",
    "money": "Time and money",
    "data": "Data",
    "safety": "Safety",
    "rehearsal": "Rehearsal",
    "output": "Output",
}


def option(
    *flags: str,
    group: str,
    help: str,  # noqa: A002 - the word of click and argparse
    rare: bool = False,
    metavar: str = "",
    default: Any = None,
    key: str = "",
) -> Any:
    """A dataclass field that is also a flag and a key of launch.yaml.

    Args:
        flags: The flag and its aliases; none for a key that only a file can give.
        group: What it is about: a key of :data:`GROUPS`.
        help: One line, for ``--help``, the JSON schema and the documentation. It says a default
            that the plan decides; ``default`` is added to it.
        rare: Whether ``--help`` leaves it to ``--help-all``.
        metavar: What stands for the value in the help.
        default: The value when neither flag nor file gives one; a mutable one is copied.
        key: The key in launch.yaml where it differs from the field's name.
    """
    metadata = {
        "flags": flags,
        "group": group,
        "help": help,
        "rare": rare,
        "metavar": metavar,
        "key": key,
    }
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def option_fields(
    cls: type, unused: frozenset[str] = frozenset()
) -> list[tuple[Field[Any], ValueType]]:
    """The fields of ``cls`` that a user may give, each with its type of value, in order.

    Args:
        unused: Names of those to leave out (see :class:`launchers.core.roles.Definer`).
    """
    return [
        (item, item.type.__metadata__[0])  # type: ignore[union-attr]
        for item in fields(cls)
        if "help" in item.metadata and item.name not in unused
    ]


def key_of(item: Field[Any]) -> str:
    """The field's key in launch.yaml."""
    return item.metadata["key"] or item.name


def default_of(item: Field[Any]) -> Any:
    """The field's default, made anew where it is mutable."""
    if item.default_factory is not MISSING:
        return item.default_factory()
    return item.default
