"""Strategies: what makes the ranks of a job train together. One module each, by the name that
`--strategy` has for it; adding one here takes that module and one word of :data:`MODULES`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

# In the order in which they are looked for: where a source uses several, the first is named.
MODULES = ("horovod", "tensorflow", "lightning", "accelerate", "jax", "others", "torch")


@dataclass(frozen=True)
class Strategy:
    """One way to train on several ranks.

    Attributes:
        title: What people call it.
        marks: Regular expressions of dotted names; code that uses one, or what lies below it,
            uses the strategy.
        instead: What to do with a script that uses it and no Horovod; empty where the general
            words say it all.
    """

    title: str
    marks: tuple[str, ...]
    instead: str = ""

    def shown_by(self, names: Iterable[str]) -> str:
        """The first of these dotted names that shows it, or an empty string."""
        pattern = re.compile(rf"(?:{'|'.join(self.marks)})(?:\.|$)")
        return next((name for name in names if pattern.match(name)), "")


def strategies() -> list[Strategy]:
    """All of them but Horovod, which is looked for by its name alone."""
    found: list[Strategy] = []
    for name in MODULES[1:]:
        module = importlib.import_module(f"launchers.core.strategies.{name}")
        found += module.STRATEGIES
    return found
