"""A flag's text as a value type reads it; all wrong values of a command line at once."""

from __future__ import annotations

from typing import Any

import click

from launchers.cli.catalogue import RULES
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.spec.value_types import ValueType

_PROBLEMS = "launchers.cli.values"


class FlagType(click.ParamType):  # type: ignore[type-arg] # click 8.1 has no arguments
    """The click type of a value type: ``type=FlagType(Count(1, 512))``.

    The flag's command is a :class:`Verb`, which raises what is wrong.
    """

    name = "value"

    def __init__(self, value_type: ValueType):
        self.value_type = value_type

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; None where the text is wrong, and the problem is kept for the command."""
        assert param is not None
        assert ctx is not None
        return parsed(self.value_type, param.opts[0], value, ctx.meta.setdefault(_PROBLEMS, []))


class Verb(click.Command):
    """A command that reports every wrong value of its flags at once."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does.

        Raises:
            LaunchError: With a problem for each wrong value.
        """
        left = super().parse_args(ctx, args)
        if ctx.meta.get(_PROBLEMS):
            raise LaunchError(ctx.meta[_PROBLEMS])
        return left


def parsed(value_type: ValueType, flag: str, text: Any, problems: list[Problem]) -> Any:
    """The value that ``text`` stands for; None, and one of ``problems``, where it is wrong."""
    try:
        return value_type.parse(text)
    except ValueError:
        found = repr(text)[:60]
        problems.append(RULES["flag-value"].at(flag, found, value_type.expected))
        return None
