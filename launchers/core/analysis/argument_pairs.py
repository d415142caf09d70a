"""The ``--name value`` pairs among a script's arguments: what SageMaker calls hyperparameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")


def named(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each pair in order, for ``--name value`` and ``--name=value``; a flag without a value is
    none, and neither is a word of its own."""
    index = 0
    while index < len(arguments):
        word = arguments[index]
        index += 1
        if not re.fullmatch(r"--[A-Za-z][\w.-]*(=.*)?", word, re.DOTALL):
            continue
        name, equals, value = word[2:].partition("=")
        if not equals:
            # A value follows, unless it is the next flag; a negative number is a value.
            following = arguments[index] if index < len(arguments) else None
            if following is None or (following.startswith("-") and not NUMBER.fullmatch(following)):
                continue
            value = following
            index += 1
        yield name, value
