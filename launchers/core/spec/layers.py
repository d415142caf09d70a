"""The layers from which a job's values come, each over the one before: defaults of the user, a
launch.yaml, its profile, variables, flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

DEFAULT_FILE = "launch.yaml"
# What runs is one thing: where a layer names one of these, the other of a lower layer is gone.
_WHAT_RUNS = (("script", "module"), ("module", "script"))


@dataclass(frozen=True)
class Layer:
    """What one place says of a job.

    Attributes:
        values: By field, the provider's own beside the common ones.
        origins: Where each of them stands, in the plan's words: ``--role``, ``launch.yaml``.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)


def stacked(layers: Iterable[Layer]) -> Layer:
    """All layers as one, the lowest first: a later value replaces an earlier one, and mappings
    (env, tags, channels) are merged name by name."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        for given, other in _WHAT_RUNS:
            if given in layer.values:
                values.pop(other, None)
                origins.pop(other, None)
        for name, value in layer.values.items():
            before, origin = values.get(name), layer.origins[name]
            if isinstance(value, dict) and isinstance(before, dict) and before:
                # A mapping that every name of was given again has one origin.
                shared = before.keys() <= value.keys()
                origins[name] = origin if shared else f"{origins[name]} and {origin}"
                values[name] = over(before, value)
            else:
                values[name], origins[name] = value, origin
    return Layer(values, origins)


def over(base: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``upper`` on top, and so are the mappings in both."""
    result = dict(base)
    for name, value in upper.items():
        before = result.get(name)
        both = isinstance(value, dict) and isinstance(before, dict)
        result[name] = over(before, value) if both and before is not None else value
    return result
