"""Makes launchers/vertex/rules/service_model.json from the installed google-cloud-aiplatform.

Names, types, lists, maps, enumerations and what excludes what come from the client's protobuf
descriptors. Which fields a request must have, and which only the service sets, the descriptors
don't carry: that is read from the classes' own documentation ("Required.", "Output only.").
"""

from __future__ import annotations

import argparse
import inspect
import re
from typing import Any

from infra.refresh.files import VERTEX, Document, main, version_of

FILE = VERTEX / "rules" / "service_model.json"
ROOT = "CustomJob"
_PACKAGE = "google-cloud-aiplatform"
_PREFIX = "google.cloud.aiplatform.v1."
# A text without presence: a field that is left out is an empty text, which is a value there.
_MAY_BE_EMPTY = (("EnvVar", "value"),)
# Messages that have a JSON form of their own.
_SCALARS = {
    "google.protobuf.Duration": "duration",
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Any": "any",
}


def make(options: argparse.Namespace, old: Document) -> Document:
    """Each message that a CustomJob reaches, once, with only what a check needs."""
    from google.cloud import aiplatform_v1

    shapes: Document = {}
    _collect(aiplatform_v1.CustomJob.pb(aiplatform_v1.CustomJob()).DESCRIPTOR, shapes)
    return {
        "about": f"The shape of {ROOT} in the service's JSON. Generated; do not edit.",
        "sources": {
            _PACKAGE: f"{_PACKAGE} {version_of(_PACKAGE)}, google.cloud.aiplatform_v1.{ROOT}"
        },
        "date": "",
        "root": ROOT,
        # Protobuf's JSON has no difference between a text that is empty and one that is not there.
        "empty_is_missing": True,
        "shapes": dict(sorted(shapes.items())),
    }


def _collect(descriptor: Any, shapes: Document) -> None:
    name = _short(descriptor.full_name)
    if name in shapes:
        return
    members: Document = {}
    shape = shapes[name] = {"type": "structure", "members": members}
    notes = _notes(descriptor)
    groups: dict[str, list[str]] = {}
    for field in descriptor.fields:
        members[field.json_name] = _shape(field, shapes)
        if field.containing_oneof:
            groups.setdefault(field.containing_oneof.name, []).append(field.json_name)
        note = notes.get(field.name)
        if note and (name, field.json_name) not in _MAY_BE_EMPTY:
            shape.setdefault(note, []).append(field.json_name)
    if choices := [group for group in groups.values() if len(group) > 1]:
        shape["one_of"] = choices


def _shape(field: Any, shapes: Document) -> str:
    """The name of a field's shape, which is then among ``shapes``."""
    if field.message_type and field.message_type.GetOptions().map_entry:
        value = _type(field.message_type.fields_by_name["value"], shapes)
        shapes.setdefault("string", {"type": "string"})
        shapes[f"map of {value}"] = {"type": "map", "key": "string", "value": value}
        return f"map of {value}"
    name = _type(field, shapes)
    if _is_list(field):
        shapes[f"list of {name}"] = {"type": "list", "member": name}
        return f"list of {name}"
    return name


def _is_list(field: Any) -> bool:
    # protobuf 6 deprecates the label, protobuf 5 has nothing else.
    repeated = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if repeated is None else repeated)


def _type(field: Any, shapes: Document) -> str:
    """The shape of a single value: a message, an enumeration, or a scalar by protobuf's word."""
    if field.enum_type:
        name = _short(field.enum_type.full_name)
        numbers = {value.name: value.number for value in field.enum_type.values}
        shapes[name] = {"type": "enum", "numbers": numbers}
        return name
    if field.message_type and field.message_type.full_name not in _SCALARS:
        _collect(field.message_type, shapes)
        return _short(field.message_type.full_name)
    words: dict[int, str] = {
        number: name for name, number in vars(type(field)).items() if name.startswith("TYPE_")
    }
    name = words[field.type].removeprefix("TYPE_").lower()
    if field.message_type:
        name = _SCALARS[field.message_type.full_name]
    shapes[name] = {"type": "boolean" if name == "bool" else name}
    return name


def _short(full_name: str) -> str:
    return full_name.removeprefix(_PREFIX).removeprefix("google.rpc.")


def _notes(descriptor: Any) -> dict[str, str]:
    """``required`` or ``output_only`` by field, as the client's class documents them."""
    from google.cloud import aiplatform_v1

    if not descriptor.full_name.startswith(_PREFIX):
        return {}
    text = inspect.getdoc(getattr(aiplatform_v1.types, descriptor.name)) or ""
    words = {"Required": "required", "Output only": "output_only"}
    found = re.findall(r"^    (\w+) \(.*\):\n {8}(Required|Output only)\.", text, re.MULTILINE)
    return {name: words[word] for name, word in found}


if __name__ == "__main__":
    raise SystemExit(main("infra.refresh.vertex_service_model", FILE, make))
