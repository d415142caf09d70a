"""Who is told of a job's end: the type of value of ``notify``.

A webhook's address holds a token, so that it is named by a variable, or stands in the user's own
defaults; whoever shows a target shows :attr:`Target.shown`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from launchers.core.spec.compound_types import Words

DESKTOP, WEBHOOK, COMMAND, NOBODY = "desktop", "webhook", "command", "none"
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True)
class Target:
    """One of whoever is told.

    Attributes:
        kind: ``desktop``, ``webhook`` or ``command``.
        value: The webhook's address, or the variable that has it; the command's line.
    """

    kind: str
    value: str = ""

    @property
    def is_address(self) -> bool:
        """Whether the value is a webhook's address, which is a secret."""
        return self.kind == WEBHOOK and bool(_ADDRESS.match(self.value))

    @property
    def shown(self) -> str:
        """The target for a reader, without what is secret."""
        if self.is_address:
            return f"webhook of {host_of(self.value)}"
        if self.kind == WEBHOOK:
            return f"webhook of ${self.value}"
        return f"{self.kind}: {self.value}" if self.value else self.kind


def host_of(address: str) -> str:
    """The host of a webhook's address, all of it that is shown."""
    from urllib.parse import urlsplit  # for those who have one

    try:
        return urlsplit(address).hostname or "?"
    except ValueError:
        return "?"


def targets_of(words: Sequence[str]) -> list[Target]:
    """What is meant, each once; ``none`` stands for nobody.

    Raises:
        ValueError: A word is no target.
    """
    found = dict.fromkeys(_target(word) for word in words)
    return [one for one in found if one.kind != NOBODY]


def _target(word: str) -> Target:
    kind, colon, value = word.strip().partition(":")
    value = value.strip()
    if _ADDRESS.match(word.strip()):
        return Target(WEBHOOK, word.strip())
    if kind in (DESKTOP, NOBODY) and not colon:
        return Target(kind)
    if kind == WEBHOOK:
        name = value.removeprefix("$").removeprefix("{").removesuffix("}")
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            return Target(kind, name)
        if _ADDRESS.match(value):
            return Target(kind, value)
    if kind == COMMAND and value:
        return Target(kind, value)
    raise ValueError


@dataclass(frozen=True)
class Targets(Words):
    """``desktop``, ``webhook:VARIABLE``, ``command:LINE``, ``none``: a repeatable flag, a list or
    one text in YAML, where ``- command: LINE`` is the same."""

    expected: str = "desktop, webhook:VARIABLE, command:LINE or none"

    @property
    def json_schema(self) -> dict[str, Any]:  # type: ignore[override]
        text = {"type": "string", "pattern": "^(desktop|none|webhook:.+|command:.+|https?://.+)$"}
        named = {
            "type": "object",
            "properties": {kind: {"type": "string"} for kind in (WEBHOOK, COMMAND)},
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
        }
        one = {"anyOf": [text, named]}
        return {"anyOf": [text, {"type": "array", "items": one}]}

    def parse(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, list | tuple):
            value = [_as_word(one) for one in value]
        words = super().parse(value)
        targets_of(words)
        return words


def _as_word(value: Any) -> Any:
    if isinstance(value, dict) and len(value) == 1:
        ((kind, text),) = value.items()
        return f"{kind}:{text}" if isinstance(text, str) else value
    return value
