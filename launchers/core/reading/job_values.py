"""A JobSpec from Python values, for notebooks: the keys of launch.yaml as keyword arguments.

The kinds are those of the flags and of launch.yaml, so a mistake is told in the same words.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from launchers.core.model.problems import LaunchError, Problem, did_you_mean
from launchers.core.provider import Provider
from launchers.core.spec.job import JobSpec, key_of, option_fields

# What reaches the script as text; numbers are written out as Python prints them.
_TEXTS = ("args", "env")


def job_from_values(provider: Provider, values: Mapping[str, Any]) -> JobSpec:
    """The job that ``values`` describe; no file is read, and nothing is looked up.

    Args:
        values: By their key in launch.yaml, the provider's own keys beside the common ones. None
            stands for a key that is not given.

    Raises:
        LaunchError: With every unknown key and every value that is not of its key's kind.
    """
    common = option_fields(JobSpec, provider.capabilities)
    own = option_fields(provider.options)
    kinds = {key_of(item): (item.name, kind) for item, kind in [*common, *own]}
    own_keys = {key_of(item) for item, _ in own}
    problems: list[Problem] = []
    parts: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for key, value in values.items():
        if key not in kinds:
            problems.append(_unknown(key, {name: known for known, (name, _) in kinds.items()}))
            continue
        if value is None:
            continue
        name, kind = kinds[key]
        try:
            parts[key in own_keys][name] = kind.parse(_plain(key, value))
        except ValueError:
            problems.append(Problem(key, repr(value)[:60], kind.expected, rule="value"))
    if problems:
        raise LaunchError(problems)
    return JobSpec(provider=provider.name, options=provider.options(**parts[1]), **parts[0])


def _unknown(key: str, known: Mapping[str, str]) -> Problem:
    """``known``: key by field name, so that ``environment`` leads to ``env``."""
    keys = sorted(known.values())
    meant = known.get(key)
    fix = f"did you mean {meant}?" if meant else did_you_mean(key, keys)
    return Problem(key, "an unknown key", f"one of {', '.join(keys)}", fix, rule="key-unknown")


def _plain(key: str, value: Any) -> Any:
    """``value`` in the types that a YAML file has."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if key not in _TEXTS:
        return value
    if isinstance(value, Mapping):
        return {name: _plain(key, item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(key, item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(float(value))  # a subclass, such as NumPy's, prints its type as well
    return str(int(value)) if isinstance(value, int) else value
