"""What scripts hand over: in lists, tuples and dictionaries of any depth, dense or sparse."""

from __future__ import annotations

from typing import Any


def flat(structure: Any) -> list[Any]:
    """The leaves in an order of their own, the same on every rank: dictionaries by key."""
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in flat(part)]
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flat(structure[key])]
    return [structure]


def dense(tensor: Any) -> Any:
    """The values of a sparse gradient, as TensorFlow has it; anything else itself."""
    values = getattr(tensor, "values", None)
    return tensor if values is None or callable(values) else values
