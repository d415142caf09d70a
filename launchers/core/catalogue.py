"""The rules that every room may use, and the catalogues of all rooms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from launchers.core.model.rules import Rules

RULES = Rules(__file__)


def catalogues() -> Iterator[Rules]:
    """Each room's catalogue, core's first, then those of core's own rooms: whichever rooms have a
    ``rules.json``."""
    yield RULES
    for pattern in ("core/*/rules.json", "*/rules.json"):
        for file in sorted(Path(__file__).parents[1].glob(pattern)):
            if file != RULES.file:
                yield Rules(str(file))
