"""The rules that every room may use, and the catalogues of all rooms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from launchers.core.model.rules import Rules

RULES = Rules(__file__)


def catalogues() -> Iterator[Rules]:
    """Each room's catalogue, core's first: whichever rooms have a ``rules.json``."""
    yield RULES
    for file in sorted(Path(__file__).parents[1].glob("*/rules.json")):
        if file != RULES.file:
            yield Rules(str(file))
