"""Strategies: what makes the ranks of a job train together. One module each, by the name that
`--strategy` has for it and with a ``STRATEGY``; a module that is added is a strategy more."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping

from launchers.core.strategies.strategy import Strategy

# By this variable agent and guard learn it; a document without it starts the first one's ranks.
VARIABLE = "LAUNCH_STRATEGY"
FIRST, ALONE = "horovod", "none"
# In the place of a name: what the source shows, as where nothing is said.
AUTO = "auto"
_NO_STRATEGIES = {"__init__", "strategy", "others"}


def _names() -> tuple[str, ...]:
    """The first one, those that have a module by the alphabet, and that of one rank alone."""
    files = os.listdir(os.path.dirname(__file__))
    found = {name.removesuffix(".py") for name in files if name.endswith(".py")} - _NO_STRATEGIES
    return (FIRST, *sorted(found - {FIRST, ALONE}), ALONE)


NAMES = _names()


def named(name: str) -> Strategy:
    """The strategy of that name; the first one where a document says nothing (``""``)."""
    module = importlib.import_module(f"{__name__}.{name or FIRST}")
    found: Strategy = module.STRATEGY
    return found


def is_another(name: str | None) -> bool:
    """Whether it says that the ranks join, and not by the first strategy."""
    return name not in (None, AUTO, FIRST)


def said_by(environment: Mapping[str, object]) -> str:
    """The strategy that a document's variables name; empty for the first one, or for none that
    there is."""
    name = environment.get(VARIABLE)
    return str(name) if name in NAMES and name != FIRST else ""


def joining() -> list[Strategy]:
    """Every strategy by which ranks join a world, in the order of their names."""
    return [named(name) for name in NAMES if name != ALONE]
