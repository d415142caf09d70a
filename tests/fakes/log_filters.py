"""CloudWatch's filter patterns for plain text: terms, quoted phrases, ``?any`` and ``-none``.

Source: AWS, "Filter pattern syntax for metric filters, ... and log events", unstructured events.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_TERM = re.compile(r'([?-]?)(?:"((?:[^"\\]|\\.)*)"|(\S+))')


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text is what the pattern asks for; an empty pattern takes every text."""
    every: list[str] = []
    some: list[str] = []
    none: list[str] = []
    for sign, quoted, plain in _TERM.findall(pattern):
        {"": every, "?": some, "-": none}[sign].append(re.sub(r"\\(.)", r"\1", quoted) or plain)

    def matches(text: str) -> bool:
        return (
            all(term in text for term in every)
            and (not some or any(term in text for term in some))
            and not any(term in text for term in none)
        )

    return matches
