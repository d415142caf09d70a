"""The JSON schema (2020-12) of an answer, from its shape."""

from __future__ import annotations

import types
import typing
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from launchers.cli.answers.catalogue import ANSWERS, shape_of
from launchers.cli.answers.shape import Format, OneOf

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def schema(name: str) -> dict[str, Any]:
    """What the answer ``name`` of the catalogue looks like."""
    shapes = _Shapes()
    whole = shapes.of(shape_of(name))
    about = f"The --json answer of: launch {ANSWERS[name].given_by}"
    if name == "problems":
        about = f"The --json answer of {ANSWERS[name].given_by}"
    return {
        "$schema": _DIALECT,
        "title": name,
        "description": about,
        **whole,
        "$defs": dict(sorted(shapes.known.items())),
    }


class _Shapes:
    """Schemas of types; each TypedDict once, by its name.

    Attributes:
        known: The TypedDicts so far.
    """

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def of(self, shape: Any) -> dict[str, Any]:
        """The schema of one type."""
        origin, inner = get_origin(shape), get_args(shape)
        if shape is Any:
            return {}
        if shape in _PLAIN:
            return {"type": _PLAIN[shape]}
        if typing.is_typeddict(shape):
            return self._named(shape)
        if origin is Annotated:
            return self._annotated(inner[0], inner[1:])
        if origin is Literal:
            return {"enum": list(inner)}
        if origin in (Union, types.UnionType):
            return _either([self.of(one) for one in inner])
        if origin is list:
            return {"type": "array", "items": self.of(inner[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        raise TypeError(f"{shape!r} has no JSON schema")

    def _annotated(self, shape: Any, said: Sequence[Any]) -> dict[str, Any]:
        found = self.of(shape)
        for one in said:
            if isinstance(one, Format):
                parts = {"format": one.name, "pattern": one.pattern}
                found |= {key: text for key, text in parts.items() if text}
            elif isinstance(one, OneOf):
                found |= {"enum": list(one.words)}
            else:
                found["description"] = one
        return found

    def _named(self, shape: Any) -> dict[str, Any]:
        name = shape.__name__
        if name not in self.known:
            self.known[name] = {}  # it may hold itself
            hints = get_type_hints(shape, include_extras=True)
            self.known[name] = {
                "description": shape.__doc__,
                "type": "object",
                "properties": {key: self.of(kind) for key, kind in hints.items()},
                "required": [key for key in hints if key in shape.__required_keys__],
                "additionalProperties": False,
            }
        return {"$ref": f"#/$defs/{name}"}


def _either(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    if all(set(one) == {"type"} for one in schemas):
        return {"type": [one["type"] for one in schemas]}
    return {"anyOf": schemas}
