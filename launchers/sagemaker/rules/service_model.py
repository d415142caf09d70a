"""Does a document keep to what the service's own model says of CreateTrainingJob?

botocore carries that model and enforces a part of it: unknown and missing keys, types, minimums.
The rest (maximums, patterns, enumerations) is refused by the service alone, after a round trip
with credentials. Here all of it is checked, offline, from service_model.json
(`python -m infra.refresh.sagemaker_service_model` makes it from botocore).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from launchers.core.model.problems import Problem
from launchers.core.rules.model_check import (
    not_one_of,
    place,
    shown,
    unknown_key,
    without_value,
    wrong_type,
)

_FILE = Path(__file__).with_name("service_model.json")

Shape = Mapping[str, Any]


@lru_cache(maxsize=1)
def load() -> Mapping[str, Any]:
    """The model as it stands in service_model.json: ``root``, ``shapes``, ``python_patterns``."""
    model: dict[str, Any] = json.loads(_FILE.read_bytes())
    return model


def check(document: object) -> list[Problem]:
    """Every place where a CreateTrainingJob request breaks the service's model, in its order.

    Args:
        document: The request as parsed from JSON or YAML. It is not changed.

    Returns:
        One problem for each place and rule; an empty list for a request that the service's model
        accepts. ``path`` is the place, ``$.ResourceConfig.InstanceType``; ``rule`` is
        ``model-key``, ``model-missing``, ``model-type``, ``model-range``, ``model-length``,
        ``model-pattern`` or ``model-enum``. ``found`` never holds the value of an environment
        variable or a hyperparameter, nor one that looks like a credential.
    """
    return list(_problems(load()["root"], document, "$"))


def _problems(name: str, value: object, path: str) -> Iterator[Problem]:
    """What is wrong with ``value`` as the shape ``name``, which stands at ``path``."""
    shape = load()["shapes"][name]
    python_type, kind = _TYPES[shape["type"]]
    # True is an int for Python, and not for the service.
    if not isinstance(value, python_type) or (isinstance(value, bool) and python_type is not bool):
        yield wrong_type(value, kind, path)
    elif isinstance(value, str):
        yield from _in_text(name, shape, value, path)
    elif isinstance(value, dict):
        inside = _in_map if shape["type"] == "map" else _in_structure
        yield from inside(name, shape, value, path)
    elif isinstance(value, list):
        yield from _outside(shape, len(value), path, "model-length", "entry", "entries")
        for index, entry in enumerate(value):
            yield from _problems(shape["member"], entry, f"{path}[{index}]")
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from _outside(shape, value, path, "model-range")


_TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "structure": (dict, "an object"),
    "map": (dict, "an object"),
    "list": (list, "a list"),
    "string": (str, "text"),
    "integer": (int, "a whole number"),
    "long": (int, "a whole number"),
    "boolean": (bool, "true or false"),
    "float": ((int, float), "a number"),
    "double": ((int, float), "a number"),
}


def _in_structure(
    name: str, shape: Shape, value: dict[Any, object], path: str
) -> Iterator[Problem]:
    members: Mapping[str, str] = shape["members"]
    missing = [key for key in shape.get("required", ()) if key not in value]
    for key, entry in value.items():
        if key in members:
            yield from _problems(members[key], entry, f"{path}.{key}")
            continue
        problem = unknown_key(name, str(key), _members, load()["root"], path)
        # A required key that is misspelt is one mistake, not an unknown key and a missing one.
        missing = [member for member in missing if problem.fix != f"did you mean {member}?"]
        yield problem
    for key in missing:
        kind = load()["shapes"][members[key]]["type"]
        yield Problem(place(path, key), "missing", _TYPES[kind][1], rule="model-missing")


def _in_map(name: str, shape: Shape, value: dict[Any, object], path: str) -> Iterator[Problem]:
    yield from _outside(shape, len(value), path, "model-length", "entry", "entries")
    for key, entry in value.items():
        where = place(path, key)
        for problem in _problems(shape["key"], key, where):
            yield Problem(
                where, f"a key: {problem.found}", problem.expected, problem.fix, rule=problem.rule
            )
        yield from (without_value(problem) for problem in _problems(shape["value"], entry, where))


def _in_text(name: str, shape: Shape, value: str, path: str) -> Iterator[Problem]:
    outside = list(_outside(shape, len(value), path, "model-length", "character", "characters"))
    yield from outside
    if "enum" in shape:
        if value not in shape["enum"]:
            listed = "`launch machines` lists them" if name == "TrainingInstanceType" else ""
            yield not_one_of(shape["enum"], value, path, listed)
    # A text that is too long rarely fits the pattern either: one mistake, one problem.
    elif "pattern" in shape and not outside and not _matches(shape["pattern"], value):
        yield _not_matching(shape["pattern"], value, path)


# Where a dot of the service's patterns stops.
_LINE_BREAKS = set("\n\r\u0085\u2028\u2029")


def _matches(pattern: str, value: str) -> bool:
    """Whether the whole ``value`` is what the service's ``pattern`` describes."""
    python_pattern = load()["python_patterns"].get(pattern, pattern)
    return re.fullmatch(python_pattern, value, re.ASCII) is not None


def _not_matching(pattern: str, value: str, path: str) -> Problem:
    found = f"a line break in {shown(value)}" if set(value) & _LINE_BREAKS else shown(value)
    any_line = pattern in (".*", ".+")
    expected = "text without line breaks" if any_line else f"text that matches {pattern}"
    return Problem(path, found, expected, rule="model-pattern")


def _outside(
    shape: Shape, number: int, path: str, rule: str, unit: str = "", units: str = ""
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
    yield Problem(path, found, f"{bounds} {units}".rstrip(), rule=rule)


def _members(name: str) -> Iterator[tuple[str, str, str | None]]:
    """The keys of a structure, and the structures under them that are not behind a list."""
    shapes = load()["shapes"]
    for member, target in shapes[name].get("members", {}).items():
        yield member, "", target if shapes[target]["type"] == "structure" else None
