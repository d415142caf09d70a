"""The type of value of ``request:``: a part of the service's document, by its own names."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Any

from launchers.core.spec.value_types import ValueType


@dataclass(frozen=True)
class RequestFields(ValueType):
    """A mapping of JSON values; which fields it may have is the provider's to say.

    Attributes:
        schema_function: Dotted path of a function that gives their JSON schema; it is imported
            for `launch schema` and for a "did you mean" alone, since models are large.
    """

    schema_function: str
    expected: str = "a mapping of fields of the service's request, of texts, numbers, true, false"

    @property
    def json_schema(self) -> dict[str, Any]:  # type: ignore[override]
        module, _, name = self.schema_function.partition(":")
        schema: dict[str, Any] = getattr(importlib.import_module(module), name)()
        return schema

    def parse(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError
        parsed: dict[str, Any] = _copied(value)
        return parsed


def _copied(value: Any) -> Any:
    """``value`` as JSON would have it.

    Raises:
        ValueError: A document cannot hold it: a date, or a number that is none.
    """
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError
        return {key: _copied(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError
