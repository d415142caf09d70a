"""Does a document have the shape of a CustomJob, the way the service's JSON spells it?

The official client finds the first mistake, after an import of most of a second, and takes some
documents that the service then refuses. Here all of them are found, offline, from
service_model.json (`python -m infra.refresh.vertex_service_model` makes it from the client's own
descriptors). Whatever passes here, the client's ``CustomJob.from_json`` takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
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

Field = Mapping[str, Any]

# A text without presence: a field that is left out is an empty text, which is a value there.
_MAY_BE_EMPTY = (("EnvVar", "value"),)
# What may hold a credential is never shown.
_HIDDEN = (("EnvVar", "value"), ("ContainerSpec", "args"), ("PythonPackageSpec", "args"))

_DURATION = re.compile(r"-?\d{1,12}(\.\d{1,9})?s", re.ASCII)
# google.protobuf.Duration: at most about 10,000 years.
_LONGEST_DURATION = 315_576_000_000
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z", re.ASCII)


@lru_cache(maxsize=1)
def load() -> Mapping[str, Any]:
    """The shape as it stands in service_model.json: ``root``, ``messages``, ``enums``."""
    model: dict[str, Any] = json.loads(_FILE.read_bytes())
    return model


def check(document: object) -> list[Problem]:
    """Every place where a CustomJob has another shape than the service's, in its order.

    Args:
        document: The resource as parsed from JSON or YAML. It is not changed.

    Returns:
        One problem for each place and rule. ``path`` is the place,
        ``$.jobSpec.workerPoolSpecs[0].machineSpec``; ``rule`` is ``model-key``,
        ``model-missing``, ``model-type``, ``model-range``, ``model-text``, ``model-enum``,
        ``model-one-of``, or ``model-output-only``, a warning. ``found`` never holds an
        argument, the value of an environment variable, or what looks like a credential.
    """
    return list(_message(load()["root"], document, "$"))


def camel(key: str) -> str:
    """``machineSpec`` of ``machine_spec``."""
    head, *rest = key.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def _message(name: str, value: object, path: str) -> Iterator[Problem]:
    """What is wrong with ``value`` as the message ``name``, which stands at ``path``."""
    if not isinstance(value, dict):
        yield wrong_type(value, "an object", path)
        return
    fields: Mapping[str, Field] = load()["messages"][name]
    missing = [
        key
        for key, field in fields.items()
        if field.get("required") and key not in value and (name, key) not in _MAY_BE_EMPTY
    ]
    for key, entry in value.items():
        if key in fields:
            yield from _field(name, key, fields[key], entry, f"{path}.{key}")
            continue
        problem = _unknown(name, str(key), fields, path)
        # A required key that is misspelt is one mistake, not an unknown key and a missing one.
        missing = [field for field in missing if problem.fix != f"did you mean {field}?"]
        yield problem
    for key in missing:
        yield Problem(place(path, key), "missing", _kind(fields[key]), rule="model-missing")
    yield from _exclusive(fields, value, path)


def _field(message: str, key: str, field: Field, value: object, path: str) -> Iterator[Problem]:
    if field.get("output_only"):
        yield Problem(
            path,
            "a field that only the service sets",
            "no such key in a request",
            "the service ignores it",
            "warning",
            "model-output-only",
        )
    problems = _value(field, value, path)
    yield from map(without_value, problems) if (message, key) in _HIDDEN else problems
    empty = value in ("", []) and (message, key) not in _MAY_BE_EMPTY
    if empty and field.get("required"):
        yield Problem(path, "empty", _kind(field), rule="model-missing")


def _value(field: Field, value: object, path: str) -> Iterator[Problem]:
    if field.get("map"):
        yield from _map(field["type"], value, path)
    elif not field.get("list"):
        yield from _single(field["type"], value, path)
    elif not isinstance(value, list):
        yield wrong_type(value, "a list", path)
    else:
        for index, entry in enumerate(value):
            yield from _single(field["type"], entry, f"{path}[{index}]")


def _map(name: str, value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield wrong_type(value, "an object", path)
        return
    for key, entry in value.items():
        where = place(path, key)
        for problem in _single("string", key, where):
            yield Problem(where, f"a key: {problem.found}", problem.expected, rule=problem.rule)
        yield from _single(name, entry, where)


def _single(name: str, value: object, path: str) -> Iterator[Problem]:
    model = load()
    if name in model["messages"]:
        yield from _message(name, value, path)
    elif name in model["enums"]:
        yield from _enum(model["enums"][name], value, path)
    else:
        yield from _SCALARS[name](value, path)


def _text(value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield wrong_type(value, "text", path)
    elif any("\ud800" <= character <= "\udfff" for character in value):
        yield Problem(path, "half of a character", "text in UTF-8", rule="model-text")


def _truth(value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, bool):
        yield wrong_type(value, "true or false", path)


def _int32(value: object, path: str) -> Iterator[Problem]:
    yield from _integer(value, path, 31)


def _int64(value: object, path: str) -> Iterator[Problem]:
    yield from _integer(value, path, 63)


def _integer(value: object, path: str, bits: int) -> Iterator[Problem]:
    """Protobuf's JSON takes a number or its digits as text, and prints 64 bits as text."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,30}", value, re.ASCII):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        yield Problem(path, shown(value), "a whole number", rule="model-type")
    elif not -(2**bits) <= value < 2**bits:
        yield Problem(path, shown(value), f"a number of {bits + 1} bits", rule="model-range")


def _duration(value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        fix = f'write "{value}s"' if re.fullmatch(r"\d{1,9}", str(value), re.ASCII) else ""
        yield Problem(
            path, shown(value), 'seconds as text, such as "86400s"', fix, rule="model-type"
        )
    elif abs(float(value[:-1])) > _LONGEST_DURATION:
        yield Problem(path, shown(value), "a time below 10,000 years", rule="model-range")


def _timestamp(value: object, path: str) -> Iterator[Problem]:
    match = _TIMESTAMP.fullmatch(value) if isinstance(value, str) else None
    try:
        datetime.fromisoformat(match[1] if match else "")
    except ValueError:
        expected = 'a time such as "2026-01-31T12:00:00Z"'
        yield Problem(path, shown(value), expected, rule="model-type")


def _any(value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield wrong_type(value, "an object", path)


_SCALARS = {
    "string": _text,
    "bool": _truth,
    "int32": _int32,
    "int64": _int64,
    "duration": _duration,
    "timestamp": _timestamp,
    "any": _any,
}


def _enum(names: Mapping[str, int], value: object, path: str) -> Iterator[Problem]:
    if isinstance(value, str) and value in names:
        return
    by_number = {str(number): name for name, number in names.items()}
    if str(value) in by_number and not isinstance(value, bool):
        name = by_number[str(value)]
        yield Problem(path, shown(value), "a name", f"write {name}", rule="model-enum")
    elif isinstance(value, str):
        yield not_one_of(list(names), value, path)
    else:
        yield wrong_type(value, "text", path)


def _unknown(name: str, key: str, fields: Mapping[str, Field], path: str) -> Problem:
    """A key that the message ``name`` lacks; also one that is spelt as in the Python client."""
    json_name = camel(key)
    if json_name in fields:
        return Problem(
            place(path, key),
            "a key as the Python client spells it",
            "the JSON name",
            f"did you mean {json_name}?",
            rule="model-key",
        )
    return unknown_key(name, key, _members, load()["root"], path)


def _members(name: str) -> Iterator[tuple[str, str, str | None]]:
    messages = load()["messages"]
    for key, field in messages[name].items():
        inner = field["type"] in messages and not field.get("map")
        yield key, "[0]" if field.get("list") else "", field["type"] if inner else None


def _exclusive(
    fields: Mapping[str, Field], value: Mapping[str, object], path: str
) -> Iterator[Problem]:
    """Fields of which a message takes one at a time; the Python client keeps the last."""
    groups: dict[str, list[str]] = {}
    for key in value:
        group = fields.get(key, {}).get("one_of")
        if group:
            groups.setdefault(group, []).append(key)
    for keys in groups.values():
        if len(keys) > 1:
            yield Problem(path, " and ".join(keys), "one of the two", rule="model-one-of")


def _kind(field: Field) -> str:
    if field.get("list"):
        return "a list"
    if field.get("map") or field["type"] in load()["messages"]:
        return "an object"
    return "a name" if field["type"] in load()["enums"] else "text"
