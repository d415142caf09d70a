"""A JSON text as values, bounded, with every key once: a file, or a part of another document."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import islice, pairwise
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError, Problem

DEEPEST = 100  # levels
MOST_VALUES = 400_000
MOST_PROBLEMS = 50
_LONGEST_NUMBER = 64
_BRACKETS = re.compile(r"[\[\]{}]")
_COLON = re.compile(r"\s*:")
_OBJECT = re.compile(r"\s*\{")


class _KeyTwiceError(Exception):
    """An object has a key twice."""


class NotJsonError(Exception):
    """The text is no JSON; ``line``, ``at`` (the character) and ``reason`` say where and why."""

    def __init__(self, line: int, at: int, reason: str) -> None:
        super().__init__(reason)
        self.line, self.at, self.reason = line, at, reason


def parse_json(text: str, file: str, is_part: bool = False) -> Any:
    """The value of ``text``, which is a file, or lies at a place of one.

    Args:
        file: As problems name it; a place where the text ``is_part`` of a file, whose lines are
            others.

    Raises:
        NotJsonError: It is no JSON.
        LaunchError: It is, but too deep or too long, with a key twice in one object, a number
            that JSON cannot hold, or a text that nothing can take.
    """
    # Counted first, also inside strings: an empty list is 3 characters, but 60 bytes of memory.
    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        found, expected = "too many values", f"at most {MOST_VALUES:,}"
        raise LaunchError(RULES["file-too-large"].at(file, found, expected))
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=lambda digits: int(digits) if len(digits) <= _LONGEST_NUMBER else math.inf,
            parse_constant=lambda name: math.inf,
        )
    except json.JSONDecodeError as error:
        raise NotJsonError(error.lineno, error.pos, error.msg) from None
    except RecursionError:
        raise LaunchError(_too_deep(file)) from None
    except _KeyTwiceError:
        twice = islice(_keys_twice(text), MOST_PROBLEMS)
        raise LaunchError([_twice(file, *one, is_part) for one in twice]) from None
    _check(value, file)
    return value


def as_list(text: str) -> str:
    """A stream of objects (JSON Lines, or what several commands have put into one file) as the
    text of one list, with every line where it was, and the first a sign longer, as each is by an
    object right behind another; empty where ``text`` is no such stream. Behind the first object it
    need not be right."""
    # Its numbers are not asked for, and may be too long for Python.
    decoder, starts = json.JSONDecoder(parse_int=len, parse_float=len), [0]
    try:
        while next_one := _OBJECT.match(text, starts[-1]):
            end = decoder.raw_decode(text, next_one.end() - 1)[1]
            starts.append(end)
    except (json.JSONDecodeError, RecursionError):
        starts.append(len(text))  # whoever parses the list tells what is wrong there
    *whole, last = (text[start:end] for start, end in pairwise([*starts, len(text)]))
    parts = [*whole[:-1], whole[-1] + last] if whole else []
    return f"[{''.join([*parts[:1], *map(_behind_comma, parts[1:])])}]" if len(parts) > 1 else ""


def _behind_comma(part: str) -> str:
    """A further object of a list, where it is: a space is what the comma replaces, if it can."""
    gap = part[: len(part) - len(part.lstrip())]
    return "," + (part[1:] if gap and not set(gap) & set("\r\n") else part)


def texts_in(text: str) -> Iterator[tuple[int, int]]:
    """From where to where each quoted text in ``text`` reaches; none behind one that has no end.

    A regular expression for all of a text keeps a hundred bytes of memory for each character.
    """
    at = 0
    while (start := text.find('"', at)) >= 0:
        try:
            at = scanstring(text, start + 1, False)[1]
        except json.JSONDecodeError:
            return
        yield start, at


def check_text(text: str, place: str) -> None:
    """Refuse what no argument, variable or request can hold.

    Raises:
        LaunchError: A NUL character, or half of a surrogate pair.
    """
    if "\0" in text:
        raise LaunchError(RULES["file-text"].at(place, "a NUL character"))
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise LaunchError(RULES["file-text"].at(place, "half of a surrogate pair"))


def _check(root: Any, file: str) -> None:
    """Look at every value, without a call for each level."""
    # A list or object, how deep it lies, and where: (where its parent lies, its key there).
    left: list[tuple[Any, int, Any]] = []

    def look(value: Any, depth: int, parent: Any, key: Any) -> None:
        if isinstance(value, dict | list):
            if depth >= DEEPEST:
                raise LaunchError(_too_deep(file))
            left.append((value, depth, (parent, key)))
        elif isinstance(value, float):
            if not math.isfinite(value):
                place = _place(file, (parent, key))
                raise LaunchError(RULES["file-number"].at(place, "NaN, or too large a number"))
        elif "\0" in value or not value.isascii():
            check_text(value, _place(file, (parent, key)))

    look([root], 0, None, "")
    while left:
        container, depth, where = left.pop()
        is_object = isinstance(container, dict)
        for key, value in container.items() if is_object else enumerate(container):
            if is_object:
                look(key, depth, where, key)
            if not isinstance(value, int) and value is not None:
                look(value, depth + 1, where, key)


def _place(file: str, where: Any) -> str:
    parts: list[str] = []
    while where and where[0] is not None:
        where, key = where
        parts.append(f"[{key}]" if isinstance(key, int) else f".{key}")
    return f"{file}: ${''.join(reversed(parts[:-1]))[:200]}"


def _too_deep(file: str) -> Any:
    found, expected = f"more than {DEEPEST} levels", f"at most {DEEPEST} levels"
    return RULES["file-too-large"].at(file, found, expected)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise _KeyTwiceError
    return document


def _keys_twice(text: str) -> Iterator[tuple[str, int, int]]:
    """Each key that an object in ``text`` has before, the line of the first and its own. What
    stands behind the first of them need not be JSON."""
    # Of each open list or object: where its keys stand.
    keys: list[dict[str, int]] = [{}]
    at = 0
    for start, end in texts_in(text):
        for sign in _BRACKETS.findall(text, at, start):
            if sign in "[{":
                keys.append({})
            elif len(keys) > 1:
                keys.pop()
        at = end
        if _COLON.match(text, end):
            key = scanstring(text, start + 1, False)[0]
            if key in keys[-1]:
                yield key, _line(text, keys[-1][key]), _line(text, start)
            keys[-1].setdefault(key, start)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _twice(file: str, key: str, first: int, line: int, is_part: bool) -> Problem:
    place = file if is_part else f"{file}:{line}"
    found = "the same key twice" if is_part else key_twice(first)
    fix = "JSON readers keep the last one and say nothing"
    return RULES["file-key-twice"].at(f"{place}: {key[:200]}", found, fix=fix)


def key_twice(first: int) -> str:
    """What is found at the second of two keys, of which the other is on the line ``first``."""
    return f"the same key twice, first on line {first}"
