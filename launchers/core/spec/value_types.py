"""The types of value that a job's fields take: how text and YAML become a value.

A value type stands in a field's ``Annotated`` type. One definition serves flags and launch.yaml
(:meth:`ValueType.parse`) and the JSON schema that editors use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_DURATION_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SIZE_GIB = {"": 1, "g": 1, "gb": 1, "gib": 1, "t": 1024, "tb": 1024, "tib": 1024}


class ValueType:
    """What a field may be. Subclasses give :meth:`parse`, ``expected`` and ``json_schema``."""

    expected = "a text"
    json_schema: dict[str, Any] = {"type": "string"}  # noqa: RUF012 - a constant of the class

    def parse(self, value: Any) -> Any:
        """The value that ``value`` (a flag's text, or what YAML made of it) stands for.

        Raises:
            ValueError: ``value`` is not of this type; the caller says where it stood and
                :attr:`expected`. Where only parts of it are wrong, a
                :class:`~launchers.core.spec.compound_types.WrongPartsError`.
        """
        if not isinstance(value, str):
            raise ValueError
        return value


@dataclass(frozen=True)
class Text(ValueType):
    """A text, where ``pattern`` is given one that matches it as a whole."""

    pattern: str = ""
    expected: str = "a text"

    def parse(self, value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise ValueError
        if self.pattern and not re.fullmatch(self.pattern, value):
            raise ValueError
        return value

    @property
    def json_schema(self) -> dict[str, Any]:  # type: ignore[override]
        pattern = {"pattern": f"^(?:{self.pattern})$"} if self.pattern else {}
        return {"type": "string", "minLength": 1, **pattern}


@dataclass(frozen=True)
class Count(ValueType):
    """A whole number from ``minimum`` to ``maximum``."""

    minimum: int = 1
    maximum: int = 10_000

    @property
    def expected(self) -> str:  # type: ignore[override]
        return f"a whole number from {self.minimum} to {self.maximum}"

    @property
    def json_schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}

    def parse(self, value: Any) -> int:
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,18}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError
        if not self.minimum <= value <= self.maximum:
            raise ValueError
        return value


@dataclass(frozen=True)
class Duration(ValueType):
    """A time with its unit: ``90s``, ``30m``, ``1h30m``, ``5d``; the value is in seconds."""

    minimum: int = 1
    maximum: int = 3650 * 86400

    @property
    def expected(self) -> str:  # type: ignore[override]
        return (
            f"a time with its unit, such as 90s, 30m, 2h, 1h30m or 5d, from "
            f"{format_duration(self.minimum)} to {format_duration(self.maximum)}"
        )

    @property
    def json_schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": "string", "pattern": r"^(\d+(\.\d+)?[smhdw])+$"}

    def parse(self, value: Any) -> int:
        if not isinstance(value, str):
            raise ValueError
        text = value.strip().lower()
        if not re.fullmatch(r"(\d{1,9}(\.\d{1,6})?[smhdw])+", text):
            raise ValueError
        parts = re.findall(r"(\d+(?:\.\d+)?)([smhdw])", text)
        seconds = sum(float(number) * _DURATION_SECONDS[unit] for number, unit in parts)
        if seconds != int(seconds) or not self.minimum <= seconds <= self.maximum:
            raise ValueError
        return int(seconds)


@dataclass(frozen=True)
class Size(ValueType):
    """A disk size, ``500``, ``500GB`` or ``2TB``; the value is in the provider's GB."""

    minimum: int = 1
    maximum: int = 1_000_000

    @property
    def expected(self) -> str:  # type: ignore[override]
        return f"a size such as 500GB or 2TB, from {self.minimum} to {self.maximum} GB"

    @property
    def json_schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": ["integer", "string"], "pattern": r"^\d+\s*([gGtT]([iI]?[bB])?)?$"}

    def parse(self, value: Any) -> int:
        if isinstance(value, bool):
            raise ValueError
        match = re.fullmatch(r"(\d{1,9})\s*([a-z]*)", str(value).strip().lower())
        if not match or match[2] not in _SIZE_GIB:
            raise ValueError
        size = int(match[1]) * _SIZE_GIB[match[2]]
        if not self.minimum <= size <= self.maximum:
            raise ValueError
        return size


@dataclass(frozen=True)
class Switch(ValueType):
    """On or off: a flag without a value, ``true`` or ``false`` in YAML."""

    expected: str = "true or false"

    @property
    def json_schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": "boolean"}

    def parse(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError
        return value


@dataclass(frozen=True)
class Choice(ValueType):
    """One of a few words. YAML makes a number of a word such as ``2``."""

    words: tuple[str, ...]

    @property
    def expected(self) -> str:  # type: ignore[override]
        return "one of " + ", ".join(self.words)

    @property
    def json_schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"enum": [*self.words, *(int(word) for word in self.words if word.isdigit())]}

    def parse(self, value: Any) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if value not in self.words:
            raise ValueError
        return str(value)


def format_duration(seconds: int | float) -> str:
    """``5400`` as ``1h30m``: the largest units first, none that is zero.

    Example:
        >>> format_duration(5400)
        '1h30m'
    """
    left = int(seconds)
    parts = []
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if left >= length:
            parts.append(f"{left // length}{unit}")
            left %= length
    return "".join(parts) or "0s"
