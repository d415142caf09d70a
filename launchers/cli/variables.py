"""A job's values from variables, and what is said of a variable that gives none."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from launchers.cli.catalogue import RULES
from launchers.cli.values import parsed_values
from launchers.core.model.problems import Problem, did_you_mean
from launchers.core.provider import Provider
from launchers.core.reading.wrong_values import shown
from launchers.core.spec.job import JobSpec
from launchers.core.spec.layers import Layer
from launchers.core.spec.option import option_fields
from launchers.core.spec.value_types import Switch, ValueType
from launchers.core.spec.variables import (
    ON_OR_OFF,
    set_for,
    texts_of,
    variable_of,
    variables_of,
)

# Without it a job would be sent by somebody who meant to look at it.
_DRY_RUN = "--dry-run"


def from_variables(
    provider: Provider, own_flags: Iterable[str], problems: list[Problem], only: str = ""
) -> tuple[Layer, list[Problem]]:
    """What the variables of ``provider`` say, and warnings of those that say nothing.

    Args:
        own_flags: Every flag of the command.
        problems: Each wrong value is added here.
        only: The one field that is asked for; all of them without.
    """
    found = list(set_for(provider.name))
    if not found:
        return Layer(), []
    definer = provider.definer
    items = option_fields(JobSpec, definer.unused) + option_fields(definer.options)
    known = {name: (i, kind) for i, kind in items for name in variables_of(provider.name, i)}
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    warnings: list[Problem] = []
    for name in found:
        if only and (name not in known or known[name][0].name != only):
            continue
        if name not in known:
            problem = _useless(provider, name, list(known), own_flags)
            (problems if problem.severity == "error" else warnings).append(problem)
            continue
        item, kind = known[name]
        value = _value(name, kind, problems)
        if value is None:
            continue
        if item.name in values and values[item.name] != value:
            both = f"another value than {origins[item.name]}, which is the same flag"
            problems.append(RULES["variable-twice"].at(name, both))
        values[item.name], origins[item.name] = value, name
    return Layer(values, origins), warnings


def _value(name: str, kind: ValueType, problems: list[Problem]) -> Any:
    """None, and one of ``problems``, where it is wrong."""
    text = os.environ[name]
    try:
        texts = texts_of(kind, text)
    except ValueError:
        expected = ON_OR_OFF if isinstance(kind, Switch) else "quotes in pairs"
        problems.append(RULES["flag-value"].at(name, shown(text, name, repr), expected))
        return None
    return parsed_values(kind, name, texts, problems)


def _useless(provider: Provider, name: str, known: list[str], own_flags: Iterable[str]) -> Problem:
    """A variable that begins as the provider's do and gives no value."""
    flags = {variable_of(provider.name, flag): flag for flag in own_flags if flag[:2] == "--"}
    flag = flags.get(name)
    if flag is None:
        hint = did_you_mean(name, known) or f"`launch {provider.name} --help` has the flags"
        return RULES["variable-unknown"].at(name, "no flag reads this variable", fix=hint)
    if flag != _DRY_RUN:
        return RULES["variable-not-taken"].at(name, "set but ignored")
    found = "set but ignored: the job would be sent"
    fix = f"type {_DRY_RUN}, and unset the variable"
    return RULES["variable-not-taken"].at(name, found, fix=fix, severity="error")
