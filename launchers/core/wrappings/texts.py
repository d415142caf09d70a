"""JSON that lies as text in another document, and values in it that are not known here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.json_text import NotJsonError, parse_json, texts_in
from launchers.core.model.problems import LaunchError
from launchers.core.model.unknown import Unknown

# Stand around the number of a value that is not known, in a text that is yet to be parsed: signs
# for private use, which no document has.
_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_LONGEST_SHOWN = 120


def with_unknowns(value: Any, unknown: Callable[[Any], Unknown | None]) -> Any:
    """``value`` with an unknown for each part for which ``unknown`` gives one."""
    found = unknown(value)
    if found is not None:
        return found
    if isinstance(value, Mapping):
        return {key: with_unknowns(entry, unknown) for key, entry in value.items()}
    if isinstance(value, list):
        return [with_unknowns(entry, unknown) for entry in value]
    return value


def matching(pattern: str) -> Callable[[Any], Unknown | None]:
    """Takes a text for unknown in which ``pattern``, another tool's expression, is found."""
    expression = re.compile(pattern, re.DOTALL)

    def unknown(value: Any) -> Unknown | None:
        is_one = isinstance(value, str) and expression.search(value)
        return Unknown(short(value)) if is_one else None

    return unknown


def short(text: str) -> str:
    """``text`` for a message."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SHOWN else f"{line[: _LONGEST_SHOWN - 3]}..."


class Marks:
    """Values that are not known, as marks in a text."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def mark(self, text: str) -> str:
        """What stands for a value whose expression is ``text``."""
        self._texts.append(text)
        return f"{_OPEN}{len(self._texts) - 1}{_CLOSE}"

    def marked(self, text: str, pattern: str) -> str:
        """``text`` with a mark for each expression."""
        return re.sub(pattern, lambda match: self.mark(match[0]), text)

    def parsed(self, text: str, place: str) -> Any:
        """The JSON in a text with marks; a text with a mark in it is unknown as a whole.

        Raises:
            LaunchError: It is no JSON.
        """
        return self.unmarked(json_of(_quoted(text), place))

    def unmarked(self, value: Any) -> Any:
        """What was read of a text with marks, with an unknown for each text that has one."""
        return with_unknowns(value, self._unknown)

    def shown(self, text: str) -> str:
        """``text`` with the expressions for the marks."""
        return _MARK.sub(lambda match: self._texts[int(match[1])], text)

    def _unknown(self, value: Any) -> Unknown | None:
        if not isinstance(value, str) or not _MARK.search(value):
            return None
        return Unknown(short(self.shown(value)))


def _quoted(text: str) -> str:
    """``text`` with quotes around a mark outside of a text, which stands for a number or an
    object."""
    parts, at = [], 0
    for start, end in texts_in(text):
        parts += [_MARK.sub(r'"\g<0>"', text[at:start]), text[start:end]]
        at = end
    return "".join((*parts, _MARK.sub(r'"\g<0>"', text[at:])))


def json_of(text: str, place: str) -> Any:
    """The JSON in ``text``, which lies at ``place``.

    Raises:
        LaunchError: It is none, or not within the bounds of any other JSON.
    """
    try:
        return parse_json(text, place, is_part=True)
    except NotJsonError as error:
        raise LaunchError(RULES["file-json"].at(place, error.reason)) from None


def merged(value: Any, unknown: Any, text: str) -> Any:
    """``value`` with an unknown wherever ``unknown``, of the same structure, says true.

    Args:
        text: What is said of such a value.
    """
    if unknown is True:
        return Unknown(text)
    if isinstance(unknown, Mapping):
        known = value if isinstance(value, Mapping) else {}
        keys = [*known, *(key for key in unknown if key not in known)]
        return {key: merged(known.get(key), unknown.get(key), text) for key in keys}
    if isinstance(unknown, Sequence) and not isinstance(unknown, str) and isinstance(value, list):
        rest = [*unknown, *[False] * len(value)]
        return [merged(item, rest[index], text) for index, item in enumerate(value)]
    return value
