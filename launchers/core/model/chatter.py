"""Which lines that containers print around a job say nothing about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Chatter:
    """Lines of a host, of no rank, that say nothing about the job.

    Attributes:
        title: Whose lines they are, for a person; empty where there are none.
        stages: A pattern that is searched for -> what is told of it, once a job; groups of the
            pattern are ``{0}``, ``{1}``.
        blocks: First and last line of a passage, both known to their last character.
        lines: Patterns of whole lines.
    """

    title: str = ""
    stages: Mapping[str, str] | None = None
    blocks: Mapping[str, str] | None = None
    lines: tuple[str, ...] = ()

    @classmethod
    def read(cls, file: Path) -> Chatter:
        """From ``chatter.json`` of a provider."""
        table: dict[str, Any] = json.loads(file.read_bytes())
        return cls(table["title"], table["stages"], table["blocks"], tuple(table["lines"]))
