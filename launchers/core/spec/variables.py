"""The variables that stand for flags: ``LAUNCH_SAGEMAKER_ROLE`` for ``launch sagemaker --role``.

Each provider's flags have variables of their own, also those that all providers have: names such as
``LAUNCH_INSTANCES`` are the agent's and the guard's, which tell ranks their places by them.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import Field
from typing import Any

from launchers.core.spec.compound_types import Pairs, Words
from launchers.core.spec.value_types import Switch, ValueType

PREFIX = "LAUNCH_"
PROFILE = "LAUNCH_PROFILE"
# Fields whose flags are typed each time: what runs, and what a job's ranks are told or may read.
# A shell hands its variables on to everything that it starts.
TYPED_ALONE = frozenset({"module", "environment", "secrets", "allow_values"})
_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
ON_OR_OFF = "1 or 0"


def prefix_of(provider: str) -> str:
    """With which the names of all variables of a provider's flags begin."""
    return f"{PREFIX}{provider.upper().replace('-', '_')}_"


def variable_of(provider: str, flag: str) -> str:
    """The variable of a flag: ``LAUNCH_SAGEMAKER_MAX_RUNTIME`` of ``--max-runtime``."""
    return prefix_of(provider) + flag.lstrip("-").upper().replace("-", "_")


def variables_of(provider: str, item: Field[Any]) -> list[str]:
    """Those of a field, one for each of its long flags; none for one that is typed alone."""
    if item.name in TYPED_ALONE:
        return []
    flags = [flag for flag in item.metadata["flags"] if flag.startswith("--")]
    return [variable_of(provider, flag) for flag in flags]


def set_for(provider: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """The names that are set, and not to nothing, and begin as the provider's do."""
    environment = os.environ if environment is None else environment
    prefix = prefix_of(provider)
    for name in sorted(environment):
        if name.startswith(prefix) and environment[name]:
            yield name


def texts_of(value_type: ValueType, text: str) -> list[Any]:
    """A variable's text as what its flags would be given, one after another.

    Values of a repeatable flag are parted by blanks, and quoted where they hold some. A switch is
    on or off.

    Raises:
        ValueError: A quote has no end, or a switch is neither.
    """
    if isinstance(value_type, Switch):
        if text.lower() not in (*_ON, *_OFF):
            raise ValueError
        return [text.lower() in _ON]
    if not isinstance(value_type, Pairs | Words):
        return [text]
    words = shlex.shlex(text, posix=True)
    # A backslash stays, as in regular expressions and in Windows' paths.
    words.whitespace_split, words.escape, words.commenters = True, "", ""
    return list(words)
