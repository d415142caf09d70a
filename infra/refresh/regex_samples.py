"""Texts that a regular expression matches: of RE2's language, as Go and gitleaks write it."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_constants
    import sre_parse

_GLOBAL_FLAGS = re.compile(r"\(\?([a-z]+)\)")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\\\]])*\]|\(\?[a-z]+\)|.", re.DOTALL)
_POSIX = {"[:alnum:]": "A-Za-z0-9", "[:alpha:]": "A-Za-z", "[:digit:]": "0-9"}
_PRINTABLE = [chr(code) for code in range(33, 127)]
_TRIES = 30  # until what look-arounds ask for is there by chance
_MORE = 8  # how many more than the least an open repetition gives


def python_pattern(pattern: str) -> str:
    """``pattern`` in the words of `re`, which wants flags at the start of a group."""
    done: str = ""
    flags_here: list[list[str]] = [[]]
    for token in _TOKEN.findall(pattern):
        flags = _GLOBAL_FLAGS.fullmatch(token)
        if flags:  # up to the end of its group, over its alternatives too
            done += f"(?{flags[1]}:"
            flags_here[-1].append(flags[1])
            continue
        if token == "|":
            done += ")" * len(flags_here[-1]) + "|" + "".join(f"(?{one}:" for one in flags_here[-1])
            continue
        if token == "(":
            flags_here.append([])
        elif token == ")":
            done += ")" * len(flags_here.pop())
        for name, letters in _POSIX.items():
            token = token.replace(name, letters)
        done += r"\Z" if token == r"\z" else token
    return done + ")" * len(flags_here.pop())


def samples(pattern: str, seeds: int = 5) -> Iterator[str]:
    """Texts that ``pattern`` matches, by a seed each: the first has the least of everything.

    What a look-ahead or a border asks for is not made: a text is drawn again until it is there
    by chance, and given up after a while.

    Raises:
        ValueError, re.error: It has a part that is unknown here.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        parsed: Any = sre_parse.parse(python_pattern(pattern))
    compiled = re.compile(python_pattern(pattern), re.ASCII)
    for seed in range(seeds):
        drawn = random.Random(seed)
        for _ in range(_TRIES):
            text = "".join(_made(item, drawn, seed > 0) for item in parsed)
            if compiled.search(f" {text} "):
                yield text
                break


def sample(pattern: str, drawn: random.Random) -> str:
    """A text of ``drawn`` that ``pattern`` matches; what a look-around asks for is not made.

    Raises:
        ValueError, re.error: It has a part that is unknown here.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        parsed: Any = sre_parse.parse(python_pattern(pattern))
    return "".join(_made(item, drawn, True) for item in parsed)


def _made(item: tuple[Any, Any], drawn: random.Random, more: bool) -> str:
    kind, value = item
    if kind is sre_constants.LITERAL:
        return chr(value)
    if kind in (sre_constants.IN, sre_constants.NOT_LITERAL, sre_constants.ANY):
        return drawn.choice(_letters(kind, tuple(value) if isinstance(value, list) else value))
    if kind in (sre_constants.MAX_REPEAT, sre_constants.MIN_REPEAT):
        least, most, inner = value
        count = least if not more else drawn.randint(least, min(int(most), least + _MORE))
        return "".join(_all(inner, drawn, more) for _ in range(count))
    if kind is sre_constants.SUBPATTERN:
        return _all(value[3], drawn, more)
    if kind is sre_constants.BRANCH:
        return _all(drawn.choice(value[1]), drawn, more)
    if kind is sre_constants.GROUPREF:
        return ""
    if kind is sre_constants.ASSERT and value[0] < 0:
        return _all(value[1], drawn, more)  # it stands before
    if kind in (sre_constants.AT, sre_constants.ASSERT, sre_constants.ASSERT_NOT):
        return ""
    raise ValueError(f"{kind} is unknown here")


def _all(items: Any, drawn: random.Random, more: bool) -> str:
    return "".join(_made(item, drawn, more) for item in items)


@cache
def _letters(kind: Any, value: Any) -> list[str]:
    """The printable characters that one element of a pattern takes."""
    if kind is sre_constants.ANY:
        return _PRINTABLE
    if kind is sre_constants.NOT_LITERAL:
        return [letter for letter in _PRINTABLE if ord(letter) != value]
    negated = value[0][0] is sre_constants.NEGATE
    taken = [letter for letter in _PRINTABLE if any(_takes(part, letter) for part in value)]
    found = [letter for letter in _PRINTABLE if letter not in taken] if negated else taken
    return found or [" "]


def _takes(part: tuple[Any, Any], letter: str) -> bool:
    kind, value = part
    if kind is sre_constants.LITERAL:
        return bool(ord(letter) == value)
    if kind is sre_constants.RANGE:
        return bool(value[0] <= ord(letter) <= value[1])
    if kind is sre_constants.CATEGORY:
        name = str(value).lower().rpartition("_")[2]
        classes = {"digit": r"\d", "word": r"\w", "space": r"\s"}
        found = re.match(classes[name], letter, re.ASCII) is not None
        return bool(found != ("_not_" in str(value).lower()))
    return False
