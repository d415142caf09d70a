"""A CustomJob as other tools spell it, and as the service reads it."""

from __future__ import annotations

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
