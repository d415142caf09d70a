"""A CustomJob as it is found: made whole, and named by what it lies in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from launchers.core.model.unknown import Unknown
from launchers.core.wrappings.places import Places, Steps, joined
from launchers.core.wrappings.spec import Spec
from launchers.vertex.rules.service_model import camel

# Other tools send a Struct, of which snake_case is the usual form.
SPELLING = frozenset({"python-names"})
_POOLS = ("workerPoolSpecs", "worker_pool_specs")


def under(node: object, name: str) -> str:
    """The key of ``node`` that is ``name``, in camelCase or in snake_case; empty for none."""
    if not isinstance(node, Mapping):
        return ""
    return next((key for key in node if isinstance(key, str) and camel(key) == name), "")


def is_job_spec(node: object) -> bool:
    """Whether it is the content of a jobSpec."""
    return isinstance(node, Mapping) and any(key in node for key in _POOLS)


def custom_job(
    spec: Any,
    place: str,
    kind: str,
    beside: Mapping[str, Any] | None = None,
    outer: str = "",
    named_by: str = "",
) -> Spec:
    """The CustomJob with the jobSpec ``spec``, which lies at ``place``.

    Args:
        beside: What holds the spec: its name, labels and key are those of the job.
        outer: The place of that.
        named_by: Who names the job, where nothing there does.
    """
    document: dict[str, Any] = {}
    moved: dict[Steps, str] = {("jobSpec",): place}
    for name in ("displayName", "labels", "encryptionSpec"):
        key = under(beside, name)
        if key and beside is not None:
            document[name] = beside[key]
            moved[(name,)] = joined(outer, key)
    if not document.get("displayName") and named_by:
        document["displayName"] = Unknown(f"a name by {named_by}")
    document["jobSpec"] = spec
    return Spec("vertex", document, Places(place, moved), kind, SPELLING)


def whole_numbers(value: Any) -> Any:
    """``value`` with 4 for 4.0: protobuf's Struct, which some tools send, has no whole numbers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: whole_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [whole_numbers(entry) for entry in value]
    return value


def without(node: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """``node`` without the keys ``names``, in either spelling."""
    left_out = set(names)
    return {key: entry for key, entry in node.items() if camel(str(key)) not in left_out}
