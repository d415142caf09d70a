"""Does a document keep to what the service's own model says of CreateTrainingJob?

botocore carries that model and enforces a part of it: unknown and missing keys, types, minimums.
The rest (maximums, patterns, enumerations) is refused by the service alone, after a round trip
with credentials. Here all of it is checked, offline, from service_model.json
(`python -m infra.refresh.sagemaker_service_model` makes it from botocore).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from launchers.core.credentials import looks_like_credential
from launchers.core.problems import Problem, did_you_mean

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
        yield _wrong_type(value, kind, path)
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
        problem = _unknown_key(name, str(key), members, path)
        # A required key that is misspelt is one mistake, not an unknown key and a missing one.
        missing = [member for member in missing if problem.fix != f"did you mean {member}?"]
        yield problem
    for key in missing:
        kind = load()["shapes"][members[key]]["type"]
        yield Problem(_at(path, key), "missing", _TYPES[kind][1], rule="model-missing")


def _in_map(name: str, shape: Shape, value: dict[Any, object], path: str) -> Iterator[Problem]:
    yield from _outside(shape, len(value), path, "model-length", "entry", "entries")
    for key, entry in value.items():
        place = _at(path, key)
        for problem in _problems(shape["key"], key, place):
            yield Problem(
                place, f"a key: {problem.found}", problem.expected, problem.fix, rule=problem.rule
            )
        yield from (_without_value(problem) for problem in _problems(shape["value"], entry, place))


def _in_text(name: str, shape: Shape, value: str, path: str) -> Iterator[Problem]:
    outside = list(_outside(shape, len(value), path, "model-length", "character", "characters"))
    yield from outside
    if "enum" in shape:
        if value not in shape["enum"]:
            yield _not_one_of(name, shape["enum"], value, path)
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
    found = f"a line break in {_shown(value)}" if set(value) & _LINE_BREAKS else _shown(value)
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


def _wrong_type(value: object, kind: str, path: str) -> Problem:
    fix = ""
    if isinstance(value, str) and kind != "text" and re.fullmatch(r"-?\d+|true|false", value):
        fix = "write it without quotes"
    elif kind == "text" and isinstance(value, (bool, int, float)):
        fix = "write it in quotes"
    return Problem(path, _shown(value), kind, fix, rule="model-type")


def _not_one_of(name: str, allowed: list[str], value: str, path: str) -> Problem:
    few = len(allowed) <= 8
    expected = f"one of {', '.join(allowed)}" if few else f"one of {len(allowed)} known names"
    fix = did_you_mean(value, allowed)
    if not fix and name == "TrainingInstanceType":
        fix = "`launch machines` lists them"
    return Problem(path, _shown(value), expected, fix, rule="model-enum")


def _unknown_key(name: str, key: str, members: Iterable[str], path: str) -> Problem:
    """A key that the structure ``name`` lacks: misspelt, or put one level too high or too low."""
    near = did_you_mean(key, members)
    homes = [] if near else [home for home in _homes(key) if home != _at(path, key)]
    fix = f"it belongs at {' or '.join(homes[:3])}" if homes else near
    if not fix and path != "$":
        fix = f"its keys are {', '.join(members)}"
    return Problem(_at(path, key), "an unknown key", f"a key of {name}", fix, rule="model-key")


def _homes(key: str) -> list[str]:
    """The paths, not through lists, at which the request has ``key``, whatever its case."""
    shapes, found = load()["shapes"], []
    waiting = [("$", load()["root"])]
    while waiting:
        path, name = waiting.pop(0)
        for member, target in shapes[name].get("members", {}).items():
            if member.lower() == key.lower():
                found.append(_at(path, member))
            if shapes[target]["type"] == "structure":
                waiting.append((_at(path, member), target))
    return found


def _at(path: str, key: object) -> str:
    """``$.Environment.NAME``; in brackets what is no plain name."""
    text = "(hidden)" if looks_like_credential("", str(key)) else _shortened(str(key))
    if re.fullmatch(r"[A-Za-z_][\w-]*", text, re.ASCII):
        return f"{path}.{text}"
    return f"{path}[{json.dumps(text, ensure_ascii=False)}]"


def _without_value(problem: Problem) -> Problem:
    """The same for an environment variable or hyperparameter: their values may be secrets."""
    if problem.rule not in ("model-pattern", "model-enum", "model-type"):
        return problem
    found = "a value with a line break" if "line break" in problem.found else "another value"
    if problem.rule == "model-type":
        found = "a value that is not text"
    return Problem(problem.path, found, problem.expected, problem.fix, rule=problem.rule)


def _shown(value: object) -> str:
    """``value`` for a message: short, and not at all where it may be a credential."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        credential = looks_like_credential("", value)
        return f"what looks like {credential}" if credential else f"'{_shortened(value)}'"
    return _shortened(json.dumps(value, default=str))


def _shortened(text: str, length: int = 60) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."
