"""Text of ranks, services and documents as it may reach a terminal, the ledger or a table.

What a job prints is not ours: an escape sequence in it could clear the screen, set the window's
title or the clipboard, or make a line read as another one. The log files keep every byte.

The forms are those of ECMA-48 (5th edition, 5.4 and 5.6: control sequences and control strings,
in 7 and in 8 bits), of xterm's "Control Sequences" (OSC ends with BEL too), and of Unicode's UAX 9
(the explicit bidirectional controls, which reorder what is read).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

# One that has no end on its line loses its introducer alone: text is never swallowed.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, clearing
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])"  # OSC, DCS, SOS, PM, APC: up to their end
    r"[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"  # character sets and the like
    r"|\x1b[0-OQ-WYZ\\`-~]"  # two characters, no introducer of the above
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*"
    r"|\x1b[\]PX^_]?|[\x90\x98\x9d-\x9f]"
)
_LINE_END = re.compile("\r\n|[\n\v\f\x1c-\x1e\x85\u2028\u2029]")
# What is left over after sequences, line ends, carriage returns and backspaces.
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNUSUAL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# Harmless in JSON's own escapes; what json.dumps leaves as it is must not reach a terminal.
_NOT_IN_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# The only sequences that are ours: launchers.cli.show.output's styles and their end.
_OUR_STYLE = re.compile("(\x1b\\[(?:0|1|2|3[1-6])m)")


def printable(text: str) -> str:
    """``text`` as one line without anything that a terminal would obey; tabs stay.

    Of a line that was written over by carriage returns the last state is left, a backspace moves
    back one character, a line end is a blank, half of a character is U+FFFD.

    Example:
        >>> printable("\\x1b[31mepoch 1\\x1b[0m: 10%\\repoch 1: 20%")
        'epoch 1: 20%'
    """
    # The first question is the quick one; a line of a log is asked it twice.
    if text.isprintable() or _UNUSUAL.search(text) is None:
        return text
    # No introducer is left by this, so that what stood around a sequence makes no new one.
    text = _LINE_END.sub(" ", _SEQUENCE.sub("", text))
    if "\r" in text:
        text = next((state for state in reversed(text.split("\r")) if state.strip(" \t\b")), "")
    if "\b" in text:
        text = _moved_back(text)
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", text))


def is_utf8(text: str) -> bool:
    """Whether all of ``text`` is; not so a name or an argument with bytes that are none (PEP 383),
    or half of a character."""
    return text.isascii() or _SURROGATE.search(text) is None


def printable_message(text: str) -> str:
    """A message of ours, maybe of several lines, in our own styles, with a foreign text in it.

    A carriage return or backspace in that text does not take away what stands before it.
    """
    if _UNUSUAL.search(text) is None:
        return text
    parts = _OUR_STYLE.split(text.replace("\r", " ").replace("\b", ""))
    # Every second part is one of our styles.
    return "".join(
        part if index % 2 else "\n".join(printable(line) for line in part.split("\n"))
        for index, part in enumerate(parts)
    )


def printable_value(value: Any) -> Any:
    """``value``, as JSON has it, with every text and every key printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(key)): printable_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [printable_value(item) for item in value]
    return value


def printable_json(value: Any, indent: int | None = None) -> str:
    """``value`` as JSON that loses nothing: what a terminal would obey is a ``\\u`` escape."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    return _NOT_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _moved_back(text: str) -> str:
    """What stands there after backspaces, as on a terminal: what follows writes over."""
    shown: list[str] = []
    at = 0
    for letter in text:
        if letter == "\b":
            at = max(0, at - 1)
            continue
        shown[at : at + 1] = [letter]
        at += 1
    return "".join(shown)
