"""A CustomJob as other tools spell it, and as the service reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from launchers.core.rules.model_check import place
from launchers.vertex.rules.service_model import Field, camel, load


def with_names(document: Mapping[str, Any]) -> dict[str, Any]:
    """``document`` with the names of enumerations where their numbers stand, the JSON names of
    keys that are spelt as in the Python client, and without fields that are null.

    The official client sends numbers (``acceleratorType: 5``), and the service takes both, as it
    takes ``machine_spec`` for ``machineSpec``, and null for a field that is not set: so is the
    JSON form of protobuf. Pure.
    """
    named: dict[str, Any] = _with_names(load()["root"], document)
    return named


def python_names(document: Mapping[str, Any]) -> list[str]:
    """The places of keys that :func:`with_names` gives their JSON names, in order. Pure."""
    return list(_renamed(load()["root"], document, "$"))


def _renamed(name: str, value: Any, path: str) -> Iterator[str]:
    fields = load()["messages"].get(name, {})
    for key, entry in value.items() if isinstance(value, Mapping) else ():
        json_name = _json_name(key, fields, value)
        where = place(path, key)
        if json_name != key:
            yield where
        field = fields.get(json_name, {})
        if field.get("list") and isinstance(entry, list):
            for index, item in enumerate(entry):
                yield from _renamed(field["type"], item, f"{where}[{index}]")
        elif field and not field.get("map"):
            yield from _renamed(field["type"], entry, where)


def _with_names(name: str, value: Any) -> Any:
    model = load()
    if name in model["enums"]:
        by_number = {number: word for word, number in model["enums"][name].items()}
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return by_number.get(value, value) if is_number else value
    if name not in model["messages"] or not isinstance(value, Mapping):
        return value
    fields = model["messages"][name]
    result = {}
    for key, entry in value.items():
        key = _json_name(key, fields, value)
        if entry is None and key in fields:
            continue
        field = fields.get(key, {"type": ""})
        if field.get("list") and isinstance(entry, list):
            result[key] = [_with_names(field["type"], item) for item in entry]
        else:
            result[key] = _with_names("" if field.get("map") else field["type"], entry)
    return result


def _json_name(key: Any, fields: Mapping[str, Field], value: Mapping[str, Any]) -> Any:
    """A key by its JSON name, where it is spelt otherwise and its place is free."""
    name = camel(key) if isinstance(key, str) else key
    return name if name in fields and name not in value else key
