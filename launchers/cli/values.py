"""A flag's text as a value type reads it; all wrong values of a command line at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from launchers.cli.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.reading.wrong_values import shown
from launchers.core.spec.compound_types import Pairs, Words
from launchers.core.spec.value_types import ValueType

_PROBLEMS = "launchers.cli.values"


class FlagType(click.ParamType):  # type: ignore[type-arg] # click 8.1 has no arguments
    """The click type of a value type: ``type=FlagType(Count(1, 512))``.

    The flag's command is a :class:`~launchers.cli.verb.Verb`, which raises what is wrong.
    """

    name = "value"

    def __init__(self, value_type: ValueType):
        self.value_type = value_type

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; None where the text is wrong, and the problem is kept for the command."""
        assert param is not None
        assert ctx is not None
        return parsed(self.value_type, param.opts[0], value, ctx.meta.setdefault(_PROBLEMS, []))


def wrong_values(ctx: click.Context) -> list[Problem]:
    """What is wrong with the values of a command line, so far."""
    found: list[Problem] = ctx.meta.get(_PROBLEMS, [])
    return found


def the_only(ctx: click.Context, param: click.Parameter, texts: Sequence[str] | None) -> str | None:
    """The callback of a ``multiple`` flag that takes one value: the first of two is not dropped
    without a word."""
    if len(set(texts or ())) > 1:
        problems = ctx.meta.setdefault(_PROBLEMS, [])
        problems.append(RULES["flag-twice"].at(param.opts[0], _both(texts)))
    return texts[-1] if texts else None


def parsed(value_type: ValueType, flag: str, text: Any, problems: list[Problem]) -> Any:
    """The value that ``text`` stands for; None, and one of ``problems``, where it is wrong."""
    try:
        return value_type.parse(text)
    except ValueError:
        problems.append(RULES["flag-value"].at(flag, shown(text, flag, repr), value_type.expected))
        return None


def parsed_values(kind: ValueType, flag: str, texts: Sequence[Any], problems: list[Problem]) -> Any:
    """The value of a field from what its flag, or its variable, was given; None where nothing of
    that is right. Texts and mappings of a repeatable flag add up.

    Args:
        flag: By which name it was given.
        problems: Each mistake is added here.
    """
    found: Any = None
    if len(set(texts)) > 1 and not isinstance(kind, Pairs | Words):
        problems.append(RULES["flag-twice"].at(flag, _both(texts)))
    for text in texts:
        value = parsed(kind, flag, text, problems)
        if value is None:
            continue
        if isinstance(value, dict) and found:
            problems += _named_twice(flag, found, value)
        if isinstance(value, tuple) and found:
            value = found + value
        found = {**(found or {}), **value} if isinstance(value, dict) else value
    return found


def _both(texts: Sequence[Any] | None) -> str:
    return " and ".join(map(repr, texts or ()))[:80]


def _named_twice(flag: str, before: Mapping[str, str], value: Mapping[str, str]) -> list[Problem]:
    """Names that the same flag gave before: only the last value would be sent."""
    return [
        RULES["flag-name-twice"].at(f"{flag} {name}", "the same name twice")
        for name in value
        if name in before
    ]
