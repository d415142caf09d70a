"""What stands beside a field of an answer's shape, other than its meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Format:
    """A text that has a form of its own, in the words of JSON Schema."""

    name: str = ""
    pattern: str = ""


@dataclass(frozen=True)
class OneOf:
    """A text that is one of these words."""

    words: tuple[str, ...]


Time = Annotated[str, Format("date-time", r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]
