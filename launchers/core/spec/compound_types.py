"""The types of value that have parts: names with values, texts in order, a script's arguments.

A wrong part is named by itself, and all of them at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from launchers.core.spec.value_types import ValueType


class WrongPart(NamedTuple):
    """One part of a value that is not what it should be.

    Attributes:
        keys: The way to it inside the value: names, and numbers from 0 in lists.
        found: The part itself, or its name where that is wrong; a message must not show a secret.
        expected: What it may be.
    """

    keys: tuple[str | int, ...]
    found: Any
    expected: str


class WrongPartsError(ValueError):
    """A mapping or a list of the right kind, with parts that are wrong."""

    def __init__(self, parts: Sequence[WrongPart]):
        super().__init__("wrong parts")
        self.parts = tuple(parts)


@dataclass(frozen=True)
class Pairs(ValueType):
    """Names with values: ``NAME=VALUE`` on the command line (repeatable), a mapping in YAML.

    Attributes:
        name_pattern: What a name must match as a whole.
        separator: What stands between name and value in a flag.
    """

    name_pattern: str = r"[A-Za-z_][A-Za-z0-9_]*"
    separator: str = "="
    what: str = "NAME=VALUE"

    @property
    def expected(self) -> str:  # type: ignore[override]
        return f"{self.what}, the name matching {self.name_pattern}"

    @property
    def json_schema(self) -> dict[str, Any]:  # type: ignore[override]
        scalar = {"type": ["string", "number", "boolean"]}
        return {
            "type": "object",
            "propertyNames": {"pattern": f"^(?:{self.name_pattern})$"},
            "additionalProperties": scalar,
        }

    def parse(self, value: Any) -> dict[str, str]:
        if isinstance(value, str):
            name, found, text = value.partition(self.separator)
            if not found or self.wrong_part(name, text):
                raise ValueError
            return {name: text}
        if not isinstance(value, dict):  # a file's, in which NAME=VALUE may be what was written
            raise WrongPartsError([WrongPart((), value, "a mapping, such as {NAME: VALUE}")])
        wrong = [part for item in value.items() if (part := self.wrong_part(*item))]
        if wrong:
            raise WrongPartsError(wrong)
        return dict(value)

    def takes(self, text: str) -> bool:
        """Whether a name may have that value."""
        return True

    def wrong_part(self, name: Any, text: Any) -> WrongPart | None:
        """What is wrong with a name or its value; None where nothing is."""
        if not isinstance(name, str) or not re.fullmatch(self.name_pattern, name):
            return WrongPart((str(name),), name, f"a name that matches {self.name_pattern}")
        if not isinstance(text, str):
            return WrongPart((name,), text, "one text, number, true or false")
        return None if self.takes(text) else WrongPart((name,), text, self.what)


@dataclass(frozen=True)
class Words(ValueType):
    """Texts in order: a repeatable flag, a list in YAML."""

    pattern: str = ""
    expected: str = "a list of texts"

    @property
    def json_schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": "array", "items": {"type": ["string", "number", "boolean"]}}

    def parse(self, value: Any) -> tuple[str, ...]:
        words: Sequence[Any] = [value] if isinstance(value, str) else value
        if not isinstance(words, list | tuple):
            raise ValueError
        wrong = [
            WrongPart((number,), word, self.each)
            for number, word in enumerate(words)
            if not isinstance(word, str) or (self.pattern and not re.fullmatch(self.pattern, word))
        ]
        if wrong:
            raise ValueError if isinstance(value, str) else WrongPartsError(wrong)
        return tuple(words)

    @property
    def each(self) -> str:
        """What one of them may be."""
        return f"a text that matches {self.pattern}" if self.pattern else "one text or number"


@dataclass(frozen=True)
class Arguments(Words):
    """The script's own arguments: a list, verbatim, or a mapping that becomes ``--name value``.

    In a mapping ``true`` stands for the bare flag, ``false`` and null leave it out, and a list
    repeats the flag.
    """

    expected: str = "a list, such as [--lr, 0.1], or a mapping, such as {lr: 0.1}"

    @property
    def json_schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": ["array", "object"]}

    def parse(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, str):  # which would reach the script as one argument
            raise ValueError
        if not isinstance(value, dict):
            return super().parse(value)
        words: list[str] = []
        wrong: list[WrongPart] = []
        for name, setting in value.items():
            if isinstance(name, str):
                words += _argument(name, (name,), setting, wrong)
            else:
                wrong.append(WrongPart((str(name),), name, "a name"))
        if wrong:
            raise WrongPartsError(wrong)
        return tuple(words)


def _argument(
    name: str, keys: tuple[str | int, ...], setting: Any, wrong: list[WrongPart]
) -> list[str]:
    """The words of one argument; a part that makes none is added to ``wrong``."""
    flag = f"-{name}" if len(name) == 1 else f"--{name}"
    if setting is None or setting == "false":
        return []
    if setting == "true":
        return [flag]
    if isinstance(setting, list):
        items = enumerate(setting)
        return [word for at, item in items for word in _argument(name, (*keys, at), item, wrong)]
    if not isinstance(setting, str):
        wrong.append(WrongPart(keys, setting, "a text, a number, true, false, or a list of those"))
        return []
    return [flag, setting]
