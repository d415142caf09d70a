"""A CustomJob as other tools spell it, and as the service reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from launchers.core.rules.model_check import place
from launchers.vertex.rules.service_model import MODEL, camel


def with_names(document: Mapping[str, Any]) -> dict[str, Any]:
    """``document`` with the names of enumerations where their numbers stand, the JSON names of
    keys that are spelt as in the Python client, and without fields that are null.

    The official client sends numbers (``acceleratorType: 5``), and the service takes both, as it
    takes ``machine_spec`` for ``machineSpec``, and null for a field that is not set: so is the
    JSON form of protobuf. Pure.
    """
    named: dict[str, Any] = _with_names(MODEL.root, document)
    return named


def python_names(document: Mapping[str, Any]) -> list[str]:
    """The places of keys that :func:`with_names` gives their JSON names, in order. Pure."""
    return list(_renamed(MODEL.root, document, "$"))


def with_lists(document: Mapping[str, Any]) -> dict[str, Any]:
    """``document`` with a list of one where a single entry stands for a list, as gcloud reads the
    file of its ``--config``: ``workerPoolSpecs:`` may be one pool. Pure."""
    listed: dict[str, Any] = _with_lists(MODEL.root, document)
    return listed


def as_spelt(path: str, document: Mapping[str, Any]) -> str:
    """``$.jobSpec.workerPoolSpecs[0].x`` as ``document`` spells its keys; an entry that stands for
    a list of one has no number there. A key that is missing is spelt as its neighbours are. Pure.

    Example:
        >>> as_spelt("$.jobSpec.workerPoolSpecs[0].x", {"job_spec": {"worker_pool_specs": {}}})
        '$.job_spec.worker_pool_specs.x'
    """
    value: Any = document
    snake = next(_renamed(MODEL.root, document, "$"), None) is not None
    result, at = "$", 1
    for step in _STEP.finditer(path):
        if step.start() != at or value is None:
            break
        at = step.end()
        if step["index"]:
            if isinstance(value, list):
                index = int(step["index"])
                value = value[index] if index < len(value) else None
                result += step[0]
        elif isinstance(value, Mapping):
            key = _given_key(step["key"], value, snake)
            value = value.get(key)
            result += f".{key}"
        else:  # a variable's name, behind a list
            at = step.start()
            break
    return result + path[at:]


_STEP = re.compile(r"\.(?P<key>[A-Za-z]\w*)|\[(?P<index>\d+)\]")


def _given_key(key: str, value: Mapping[str, Any], snake: bool) -> str:
    if key in value:
        return key
    theirs = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
    return theirs if theirs in value or snake else key


def _with_lists(name: str, value: Any) -> Any:
    shape = MODEL.shapes[name]
    if shape["type"] == "list":
        if isinstance(value, str | Mapping):
            value = [value]
        return (
            [_with_lists(shape["member"], item) for item in value]
            if isinstance(value, list)
            else value
        )
    if shape["type"] != "structure" or not isinstance(value, Mapping):
        return value
    members = shape["members"]
    return {
        key: _with_lists(members[_json_name(key, members, value)], entry)
        if _json_name(key, members, value) in members
        else entry
        for key, entry in value.items()
    }


def _renamed(name: str, value: Any, path: str) -> Iterator[str]:
    shape = MODEL.shapes[name]
    if shape["type"] == "list" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _renamed(shape["member"], item, f"{path}[{index}]")
    if shape["type"] != "structure" or not isinstance(value, Mapping):
        return
    for key, entry in value.items():
        json_name = _json_name(key, shape["members"], value)
        where = place(path, key)
        if json_name != key:
            yield where
        if json_name in shape["members"]:
            yield from _renamed(shape["members"][json_name], entry, where)


def _with_names(name: str, value: Any) -> Any:
    shape = MODEL.shapes[name]
    if shape["type"] == "enum":
        by_number = {number: word for word, number in shape["numbers"].items()}
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return by_number.get(value, value) if is_number else value
    if shape["type"] == "list" and isinstance(value, list):
        return [_with_names(shape["member"], item) for item in value]
    if shape["type"] != "structure" or not isinstance(value, Mapping):
        return value
    members, result = shape["members"], {}
    for key, entry in value.items():
        key = _json_name(key, members, value)
        if key not in members:
            result[key] = entry
        elif entry is not None:
            result[key] = _with_names(members[key], entry)
    return result


def _json_name(key: Any, members: Mapping[str, str], value: Mapping[str, Any]) -> Any:
    """A key by its JSON name, where it is spelt otherwise and its place is free."""
    name = camel(key) if isinstance(key, str) else key
    return name if name in members and name not in value else key
