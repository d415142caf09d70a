"""Secrets of Kubernetes: a manifest's values are no more than base64 of them.

Source: kubernetes.io, "Secrets": ``data`` holds base64, ``stringData`` the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_KIND = re.compile(r"^[ \t]*[\"']?kind[\"']?:[ \t]*[\"']?secret\b", re.MULTILINE | re.IGNORECASE)
_DATA = re.compile(r"^(?P<indent>[ \t]*)data:[ \t]*\r?\n", re.MULTILINE)
_ENTRY = re.compile(
    r"[\w.-]+:(?:[ \t]*(?:[|>][+-]?[ \t]*)?\r?\n?[ \t]*|[ \t]+)[\"']?"
    r"(?P<value>[A-Za-z0-9+/]{10,}={0,3})"
)
_APART = re.compile(r"^---", re.MULTILINE)
_FAR = 4000  # characters of a block that are read


def manifest_secrets(text: str) -> Iterator[int]:
    """Offsets of the first value in each ``data`` of a Secret's manifest."""
    if "data:" not in text or not _KIND.search(text):
        return
    start = 0
    for part in _APART.split(text):
        if _KIND.search(part):
            for block in _DATA.finditer(part):
                found = _ENTRY.search(_block(part, block))
                if found:
                    yield text.index(part, start) + block.end() + found.start("value")
        start = text.index(part, start) + len(part)


def _block(text: str, head: re.Match[str]) -> str:
    """The lines below ``head`` that are indented more than it."""
    lines = []
    for line in text[head.end() : head.end() + _FAR].split("\n"):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= len(head["indent"]):
            break
        lines.append(line)
    return "\n".join(lines)
