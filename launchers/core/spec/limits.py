"""How long agents wait: the limits of a job whose ranks our agent starts, by the names that
``--limit`` has for them.

Read by entrypoints/launch_runtime/host/settings.py and, ``bundle``, templates/vertex/bootstrap.py,
which have the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from launchers.core.spec.compound_types import Pairs, WrongPart
from launchers.core.spec.value_types import Duration

VARIABLES = {
    "join": "LAUNCH_JOIN_TIMEOUT",
    "host": "LAUNCH_HOST_TIMEOUT",
    "bundle": "LAUNCH_BUNDLE_TIMEOUT",
    "stop": "LAUNCH_STOP_SECONDS",
    "init": "LAUNCH_INIT_WARNING_SECONDS",
    "reminder": "LAUNCH_REMINDER_SECONDS",
}
_TIME = Duration(1, 7 * 86400)


@dataclass(frozen=True)
class Limits(Pairs):
    """Limits by name, each a time with its unit; ``names`` are those that the provider has."""

    names: tuple[str, ...] = tuple(VARIABLES)

    @property
    def expected(self) -> str:  # type: ignore[override]
        names = ", ".join(self.names[:-1])
        return f"NAME=TIME, the name one of {names} or {self.names[-1]}, the time such as 90s"

    @property
    def json_schema(self) -> dict[str, Any]:  # type: ignore[override]
        times = dict.fromkeys(self.names, _TIME.json_schema)
        return {"type": "object", "properties": times, "additionalProperties": False}

    def wrong_part(self, name: Any, text: Any) -> WrongPart | None:
        if name not in self.names:
            return WrongPart((str(name),), name, f"one of {', '.join(self.names)}")
        try:
            _TIME.parse(text)
        except ValueError:
            return WrongPart((name,), text, _TIME.expected)
        return None


def in_seconds(limits: Mapping[str, str]) -> dict[str, int]:
    """The limits that are given, in seconds."""
    return {name: _TIME.parse(text) for name, text in limits.items()}


def variables(limits: Mapping[str, str]) -> dict[str, str]:
    """The variables by which bootstrap and agent are told, in seconds."""
    return {VARIABLES[name]: str(seconds) for name, seconds in in_seconds(limits).items()}
