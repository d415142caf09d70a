"""Does a document keep to what a service's own model says of a request?

A provider's service_model.json holds the model, in one form for all of them; a script of
infra/refresh makes it from the official client. Every mistake is found, offline, where the
clients find the first one, or leave it to the service.

``root`` is the name of the whole request's shape, ``shapes`` has every shape by its name: a
``type`` (one of :data:`TYPES`, or one that the provider reads itself) and what limits it: ``min``,
``max``, ``pattern`` and ``enum``; a list's ``member``; a map's ``key`` and ``value``; a structure's
``members``, of which some are ``required``, some ``output_only``, and of each group in ``one_of``
one may be given. ``python_patterns`` has the patterns that :mod:`re` reads otherwise than the
service. With ``empty_is_missing`` an empty text or list is as good as none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.model.rules import Rule
from launchers.core.model.unknown import Unknown
from launchers.core.rules.model_check import (
    fix_of_placeholder,
    not_one_of,
    place,
    shown,
    unknown_key,
    without_value,
    wrong_type,
)

Shape = Mapping[str, Any]
# What is wrong with a value of a shape that stands at a path.
Reading = Callable[[Shape, object, str], Iterator[Problem]]

# type -> its values in Python, its words
TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "structure": (dict, "an object"),
    "map": (dict, "an object"),
    "any": (dict, "an object"),
    "list": (list, "a list"),
    "string": (str, "text"),
    "enum": (str, "a name"),
    "integer": (int, "a whole number"),
    "long": (int, "a whole number"),
    "boolean": (bool, "true or false"),
    "float": ((int, float), "a number"),
    "double": ((int, float), "a number"),
}
# What a number without a bound of its own is for the service, in bits with its sign.
_BITS = {"integer": 32, "long": 64}
# Where a dot of the services' patterns stops.
_LINE_BREAKS = set("\n\r\u0085\u2028\u2029")


class ServiceModel:
    """A service's model, and the check of a document against it.

    Args:
        file: service_model.json; it is read on use.
        readings: By type, the types of which the provider says itself what is wrong.
        hidden: Whether the values of a structure's member, or a map's (its shape and ``value``),
            are kept out of messages.
        json_name: The JSON name of a key as another tool spells it.
        hints: By the shape of an enumeration, what to do where no name is near.
    """

    def __init__(
        self,
        file: Path,
        hidden: Callable[[str, str], bool],
        readings: Mapping[str, Reading] | None = None,
        json_name: Callable[[str], str] = lambda key: key,
        hints: Mapping[str, str] | None = None,
    ):
        self._file = file
        self._hidden = hidden
        self._readings = readings or {}
        self._json_name = json_name
        self._hints = hints or {}

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """The file's content."""
        content: dict[str, Any] = json.loads(self._file.read_bytes())
        return content

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """Every shape by its name."""
        shapes: Mapping[str, Shape] = self.content["shapes"]
        return shapes

    @property
    def root(self) -> str:
        """The name of the request's shape."""
        return str(self.content["root"])

    def check(self, document: object) -> list[Problem]:
        """Every place where a request breaks the service's model, in its order.

        Args:
            document: The request as parsed from JSON or YAML. It is not changed.

        Returns:
            One problem for each place and rule. ``path`` is the place,
            ``$.ResourceConfig.InstanceType``; ``rule`` is ``model-key``, ``model-missing``,
            ``model-type``, ``model-range``, ``model-length``, ``model-pattern``, ``model-enum``,
            ``model-one-of``, ``model-output-only`` (a warning), or one of the provider's.
            ``found`` never holds a hidden value, nor one that looks like a credential.
        """
        return list(self._problems(self.root, document, "$"))

    def check_part(self, name: str, value: object, path: str) -> list[Problem]:
        """:meth:`check` for a part of a request alone.

        Args:
            name: Its shape.
            path: Where it stands, in the words of whoever wrote it.
        """
        return list(self._problems(name, value, path))

    def matches(self, pattern: str, value: str) -> bool:
        """Whether the whole ``value`` is what the service's ``pattern`` describes."""
        python_pattern = self.content["python_patterns"].get(pattern, pattern)
        return re.fullmatch(python_pattern, value, re.ASCII) is not None

    def _problems(self, name: str, value: object, path: str) -> Iterator[Problem]:
        """What is wrong with ``value`` as the shape ``name``, which stands at ``path``."""
        if isinstance(value, Unknown):
            return
        shape = self.shapes[name]
        if shape["type"] in self._readings:
            yield from self._readings[shape["type"]](shape, value, path)
            return
        python_type, kind = TYPES[shape["type"]]
        is_truth = isinstance(value, bool)  # an int for Python, and not for the services
        if not isinstance(value, python_type) or (is_truth and python_type is not bool):
            yield wrong_type(value, kind, path)
        elif isinstance(value, str):
            yield from self._in_text(name, shape, value, path)
        elif isinstance(value, dict):
            if shape["type"] == "structure":
                yield from self._in_structure(name, shape, value, path)
            elif shape["type"] == "map":
                yield from self._in_map(name, shape, value, path)
        elif isinstance(value, list):
            yield from _outside(shape, len(value), path, RULES["model-length"], "entry", "entries")
            for index, entry in enumerate(value):
                yield from self._problems(shape["member"], entry, f"{path}[{index}]")
        elif isinstance(value, int) and not is_truth:
            yield from _in_number(shape, value, path)

    def _in_structure(
        self, name: str, shape: Shape, value: dict[Any, object], path: str
    ) -> Iterator[Problem]:
        members: Mapping[str, str] = shape["members"]
        missing = [key for key in shape.get("required", ()) if key not in value]
        for key, entry in value.items():
            if key in members:
                yield from self._in_member(name, key, entry, f"{path}.{key}")
                continue
            problem = self.unknown(name, str(key), path)
            # A required key that is misspelt is one mistake, not an unknown key and a missing one.
            missing = [member for member in missing if problem.fix != f"did you mean {member}?"]
            yield problem
        for key in missing:
            yield RULES["model-missing"].at(place(path, key), "missing", self._kind(members[key]))
        for group in shape.get("one_of", ()):
            given = [key for key in value if key in group]
            if len(given) > 1:
                yield RULES["model-one-of"].at(path, " and ".join(given))

    def _in_member(self, name: str, key: str, value: object, path: str) -> Iterator[Problem]:
        shape = self.shapes[name]
        if key in shape.get("output_only", ()):
            yield RULES["model-output-only"].at(path, "a field that only the service sets")
        member = shape["members"][key]
        problems = self._problems(member, value, path)
        yield from map(without_value, problems) if self._hidden(name, key) else problems
        empty = value in ("", []) and self.content.get("empty_is_missing")
        if empty and key in shape.get("required", ()):
            yield RULES["model-missing"].at(path, "empty", self._kind(member))

    def _in_map(
        self, name: str, shape: Shape, value: dict[Any, object], path: str
    ) -> Iterator[Problem]:
        yield from _outside(shape, len(value), path, RULES["model-length"], "entry", "entries")
        for key, entry in value.items():
            where = place(path, key)
            for problem in self._problems(shape["key"], key, where):
                yield replace(problem, path=where, found=f"a key: {problem.found}")
            problems = self._problems(shape["value"], entry, where)
            yield from map(without_value, problems) if self._hidden(name, "value") else problems

    def _in_text(self, name: str, shape: Shape, value: str, path: str) -> Iterator[Problem]:
        outside = list(
            _outside(shape, len(value), path, RULES["model-length"], "character", "characters")
        )
        yield from (replace(one, fix=fix_of_placeholder(value) or one.fix) for one in outside)
        if "enum" in shape:
            if value not in shape["enum"]:
                yield not_one_of(shape["enum"], value, path, self._hints.get(name, ""))
        # A text that is too long rarely fits the pattern either: one mistake, one problem.
        elif "pattern" in shape and not outside and not self.matches(shape["pattern"], value):
            yield _not_matching(shape["pattern"], value, path)

    def unknown(self, name: str, key: str, path: str) -> Problem:
        """What is wrong with ``key`` in the structure ``name``, which has none of that name."""
        json_name = self._json_name(key)
        if json_name != key and json_name in self.shapes[name]["members"]:
            found, fix = "a key as the Python client spells it", f"did you mean {json_name}?"
            return RULES["model-key"].at(place(path, key), found, "the JSON name", fix)
        return unknown_key(name, key, self._members, self.root, path)

    def _members(self, name: str) -> Iterator[tuple[str, str, str | None]]:
        """The keys of a structure, and the structures under them."""
        for member, target in self.shapes[name].get("members", {}).items():
            shape, steps = self.shapes[target], ""
            if shape["type"] == "list":
                target, steps = shape["member"], "[0]"
            inner = self.shapes[target]["type"] == "structure"
            yield member, steps, target if inner else None

    def _kind(self, name: str) -> str:
        return TYPES.get(self.shapes[name]["type"], (str, "text"))[1]


def _in_number(shape: Shape, value: int, path: str) -> Iterator[Problem]:
    """The shape's own bounds, and what its type can hold where it states none."""
    outside = list(_outside(shape, value, path, RULES["model-range"]))
    yield from outside
    bits = _BITS.get(shape["type"])
    if bits and not outside and not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        yield RULES["model-range"].at(path, shown(value), f"a number of {bits} bits")


def _not_matching(pattern: str, value: str, path: str) -> Problem:
    found = f"a line break in {shown(value)}" if set(value) & _LINE_BREAKS else shown(value)
    any_line = pattern in (".*", ".+")
    expected = "text without line breaks" if any_line else f"text that matches {pattern}"
    return RULES["model-pattern"].at(path, found, expected, fix_of_placeholder(value) or None)


def _outside(
    shape: Shape, number: int, path: str, rule: Rule, unit: str = "", units: str = ""
) -> Iterator[Problem]:
    """A problem where ``number`` (a value, or a length in ``units``) is out of bounds."""
    least, most = shape.get("min"), shape.get("max")
    if (least is None or number >= least) and (most is None or number <= most):
        return
    if least is None or most is None:
        bounds = f"at most {most}" if least is None else f"at least {least}"
    else:
        bounds = f"{least} to {most}"
    found = f"{number} {unit if number == 1 else units}".rstrip()
    yield rule.at(path, found, f"{bounds} {units}".rstrip())
