"""What is said of a value that is not of its key's type, in whose midst a secret may stand."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

from launchers.core.spec.compound_types import WrongPart, WrongPartsError
from launchers.core.spec.value_types import ValueType

_MOST = 60
json_text = functools.partial(json.dumps, ensure_ascii=False)


def parts_of(error: ValueError, value: Any, value_type: ValueType) -> tuple[WrongPart, ...]:
    """The parts of ``value`` that its type could not parse; all of it where it names none."""
    if isinstance(error, WrongPartsError):
        return error.parts
    return (WrongPart((), value, value_type.expected),)


def whole_shown(value: Any) -> str:
    """What a file holds that is neither an object nor a list, without its text."""
    return "a text" if isinstance(value, str) else shown(value)


def shown(value: Any, name: str = "", quoted: Callable[[str], str] = json_text) -> str:
    """``value`` in a message: a text in quotes, with a mask for what looks like a credential; of a
    mapping or a list only that it is one.

    Args:
        name: Of its key or flag.
        quoted: Puts a text in quotes: as JSON has them, or Python.

    Example:
        >>> shown({"HF_TOKEN": "hf_a"})
        'a mapping'
        >>> shown("2 days")
        '"2 days"'
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if not isinstance(value, str):
        return str(value)[:_MOST]
    from launchers.core.credentials.elsewhere import masked

    # A flag's NAME=VALUE: its name may be what is wrong, and says what the value is.
    key, _, text = value.partition("=")
    hidden = masked(text, key)
    if hidden != text:
        return f"{key}={hidden}"
    hidden = masked(value, name)
    return quoted(value)[:_MOST] if hidden == value else hidden
