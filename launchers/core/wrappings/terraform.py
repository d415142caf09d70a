"""What Terraform prints as JSON: the resources of a plan or a state. Which of them hold a job, the
providers say.

Source: Terraform's page "JSON Output Format", format version 1.x.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from launchers.core.wrappings.places import joined
from launchers.core.wrappings.texts import merged

_UNKNOWN = "known after apply"


@dataclass(frozen=True)
class Resource:
    """One resource.

    Attributes:
        type: ``aws_sfn_state_machine``.
        address: ``module.train.aws_sfn_state_machine.main``.
        values: Its attributes; those that are known after the apply alone are unknown.
        place: Where they lie.
    """

    type: str
    address: str
    values: Mapping[str, Any]
    place: str


def is_terraform(node: Mapping[str, Any]) -> bool:
    """Whether it is a plan or a state as `terraform show -json` prints it, or a state file."""
    shown = "format_version" in node and any(
        key in node for key in ("resource_changes", "planned_values", "values")
    )
    return shown or ("terraform_version" in node and isinstance(node.get("resources"), list))


def is_configuration(node: Mapping[str, Any]) -> bool:
    """Whether it is a configuration in JSON, a ``.tf.json``: resources by type and name."""
    types = node.get("resource")
    return isinstance(types, Mapping) and any(
        "_" in str(kind) and isinstance(named, Mapping) for kind, named in types.items()
    )


def resources(node: Mapping[str, Any], place: str) -> list[Resource]:
    """Every resource that is there when the plan is applied, in order."""
    if isinstance(node.get("resource_changes"), list):
        return list(_changes(node["resource_changes"], joined(place, "resource_changes")))
    for key in ("planned_values", "values"):
        if isinstance(node.get(key), Mapping):
            where = joined(place, key, "root_module")
            return list(_module(node[key].get("root_module"), where))
    return list(_state(node.get("resources"), joined(place, "resources")))


def _changes(changes: list[Any], place: str) -> Iterator[Resource]:
    for index, entry in enumerate(changes):
        change = entry.get("change") if isinstance(entry, Mapping) else None
        if isinstance(change, Mapping) and isinstance(change.get("after"), Mapping):
            values = merged(change["after"], change.get("after_unknown"), _UNKNOWN)
            where = joined(place, index, "change", "after")
            if not isinstance(values, Mapping):
                continue  # nothing of it is known
            yield Resource(str(entry.get("type")), str(entry.get("address")), values, where)


def _module(module: Any, place: str) -> Iterator[Resource]:
    if not isinstance(module, Mapping):
        return
    for index, entry in enumerate(_list(module.get("resources"))):
        if isinstance(entry, Mapping) and isinstance(entry.get("values"), Mapping):
            where = joined(place, "resources", index, "values")
            kind, address = str(entry.get("type")), str(entry.get("address"))
            yield Resource(kind, address, entry["values"], where)
    for index, child in enumerate(_list(module.get("child_modules"))):
        yield from _module(child, joined(place, "child_modules", index))


def _state(entries: Any, place: str) -> Iterator[Resource]:
    for index, entry in enumerate(_list(entries)):
        if not isinstance(entry, Mapping):
            continue
        for number, instance in enumerate(_list(entry.get("instances"))):
            values = instance.get("attributes") if isinstance(instance, Mapping) else None
            if isinstance(values, Mapping):
                kind = str(entry.get("type"))
                where = joined(place, index, "instances", number, "attributes")
                yield Resource(kind, f"{kind}.{entry.get('name')}", values, where)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
