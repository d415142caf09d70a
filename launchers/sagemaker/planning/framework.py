"""Which framework a job's image must have, by the name of its Python package."""

from __future__ import annotations

from launchers.core.analysis.facts import facts_of
from launchers.core.source.script import JobSource
from launchers.core.strategies.strategy import Strategy

# What is imported -> the package that brings it; the first that is found counts.
_BY_IMPORT = {"torch": "torch", "tensorflow": "tensorflow", "tf_keras": "tensorflow"}


def package_of(strategy: Strategy, source: JobSource) -> str:
    """That of the strategy; for one that needs none, what the script imports. Empty where it
    imports none of those that are known."""
    if strategy.package:
        return strategy.package
    facts = facts_of(source)
    if facts is None:
        return ""
    return next((package for name, package in _BY_IMPORT.items() if facts.uses(name)), "")
