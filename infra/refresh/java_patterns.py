"""The service's patterns are written for Java's regular expressions; these are the same for `re`.

The result is for `re.fullmatch` with `re.ASCII`, which gives `\\d`, `\\w` and `\\s` the meaning
that they have in Java.
"""

from __future__ import annotations

import re

# Java's dot stops at every one of these, Python's at the first alone
# (java.util.regex.Pattern, "Line terminators").
_DOT = r"[^\n\r\u0085\u2028\u2029]"
# The separators of Unicode, category Z.
_SEPARATORS = r"\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_ASCII_CLASSES = {"Alnum": "a-zA-Z0-9", "Alpha": "a-zA-Z", "Digit": "0-9"}
_TOKEN = re.compile(r"\[\^?\]?(?:\\.|[^\\\]])*\]|\\p\{\w+\}|\\.|.", re.DOTALL)
_PROPERTY = re.compile(r"\\[pP]\{(\w+)\}")


def python_pattern(pattern: str) -> str:
    """``pattern`` in the words of `re`.

    Raises:
        ValueError: It uses a part of Java's language that has no translation here.
    """
    return "".join(_translated(token, pattern) for token in _TOKEN.findall(pattern))


def _translated(token: str, pattern: str) -> str:
    if token == ".":
        return _DOT
    if token.startswith("["):
        return _character_class(token, pattern)
    if token.startswith(r"\p"):
        return _character_class(f"[{token}]", pattern)
    return token


def _character_class(text: str, pattern: str) -> str:
    if "&&" in text or "[" in text[1:].replace(r"\[", ""):
        raise ValueError(f"{pattern}: a class within a class has no translation")
    properties = set(_PROPERTY.findall(text))
    if not properties:
        return text
    if properties <= set(_ASCII_CLASSES):
        return _PROPERTY.sub(lambda match: _ASCII_CLASSES[match[1]], text)
    # Letters, numbers and the underscore are what \w means in Python without re.ASCII.
    if properties <= {"L", "N", "Z"} and {"L", "N"} <= properties and "_" in text:
        words = {"L": r"\w", "N": "", "Z": _SEPARATORS}
        return f"(?u:{_PROPERTY.sub(lambda match: words[match[1]], text).replace('_', '')})"
    raise ValueError(f"{pattern}: {sorted(properties)} have no translation")
