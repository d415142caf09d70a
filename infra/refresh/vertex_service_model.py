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
# Messages that have a JSON form of their own.
_SCALARS = {
    "google.protobuf.Duration": "duration",
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Any": "any",
}


def make(options: argparse.Namespace, old: Document) -> Document:
    """Each message that a CustomJob reaches, once, with only what a check needs."""
    from google.cloud import aiplatform_v1

    messages: Document = {}
    enums: Document = {}
    _collect(aiplatform_v1.CustomJob.pb(aiplatform_v1.CustomJob()).DESCRIPTOR, messages, enums)
    return {
        "about": f"The shape of {ROOT} in the service's JSON. Generated; do not edit.",
        "sources": {
            _PACKAGE: f"{_PACKAGE} {version_of(_PACKAGE)}, google.cloud.aiplatform_v1.{ROOT}"
        },
        "date": "",
        "root": ROOT,
        "messages": dict(sorted(messages.items())),
        "enums": dict(sorted(enums.items())),
    }


def _collect(descriptor: Any, messages: Document, enums: Document) -> None:
    name = _short(descriptor.full_name)
    if name in messages:
        return
    fields: Document = {}
    messages[name] = fields
    notes = _notes(descriptor)
    for field in descriptor.fields:
        entry: Document = {}
        fields[field.json_name] = entry
        target = field
        if field.message_type and field.message_type.GetOptions().map_entry:
            entry["map"] = True
            target = field.message_type.fields_by_name["value"]
        elif _is_list(field):
            entry["list"] = True
        entry["type"] = _type(target, messages, enums)
        if field.containing_oneof:
            entry["one_of"] = field.containing_oneof.name
        if note := notes.get(field.name):
            entry[note] = True


def _is_list(field: Any) -> bool:
    # protobuf 6 deprecates the label, protobuf 5 has nothing else.
    repeated = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if repeated is None else repeated)


def _type(field: Any, messages: Document, enums: Document) -> str:
    """The name of a message or an enumeration, or a word of protobuf for a scalar."""
    if field.enum_type:
        name = _short(field.enum_type.full_name)
        enums[name] = {value.name: value.number for value in field.enum_type.values}
        return name
    if field.message_type:
        if field.message_type.full_name in _SCALARS:
            return _SCALARS[field.message_type.full_name]
        _collect(field.message_type, messages, enums)
        return _short(field.message_type.full_name)
    words: dict[int, str] = {
        number: name for name, number in vars(type(field)).items() if name.startswith("TYPE_")
    }
    return words[field.type].removeprefix("TYPE_").lower()


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
