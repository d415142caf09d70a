"""Which files of a source tree a script reaches by its imports, read without parsing them."""

from __future__ import annotations

import functools
import os
import re
from typing import Callable, Iterator

FILES, BYTES = 2000, 8 << 20  # of one source; what lies beyond is not read
KEPT_BYTES = 64 << 10  # of a file whose imports are remembered

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^#\n]*)|import[ \t]+([^#\n]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"(\w+)(?:\s+as\s+\w+)?\s*(?:,|\)|\\|#.*|$)", re.MULTILINE)


def reached(folder: str, script: str) -> Iterator[tuple[str, bytes]]:
    """The script and the files of the tree that its imports lead to, each with its text."""
    start = os.path.join(folder, script)
    roots = [os.path.dirname(start), folder]
    # Run as a module it imports its packages first.
    parts = script.split("/")[:-1]
    packages = [
        os.path.join(folder, *parts[:count], "__init__.py") for count in range(1, len(parts) + 1)
    ]
    waiting, left = [start, *filter(os.path.isfile, packages)], BYTES
    seen = set(waiting)
    looked: set[tuple[str, str]] = set()
    names = functools.lru_cache(maxsize=None)(_names)
    while waiting and left > 0 and len(seen) <= FILES:
        path = waiting.pop(0)
        try:
            with open(path, "rb") as file:
                text = file.read(left)
        except OSError:
            continue
        left -= len(text)
        yield path, text
        for root, module in _imported(path, text, roots):
            if (root, module) in looked:
                continue
            looked.add((root, module))
            for other in _files(names, root, module):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)


def _imported(path: str, text: bytes, roots: list[str]) -> Iterator[tuple[str, str]]:
    """The folders in which a module may lie, each with its dotted name."""
    statements = _kept if len(text) <= KEPT_BYTES else _statements
    for level, module in statements(text):
        places = roots
        if level:
            place = os.path.dirname(path)
            for _ in range(level - 1):
                place = os.path.dirname(place)
            places = [place]
        for place in places:
            yield place, module


def _statements(text: bytes) -> tuple[tuple[int, str], ...]:
    """How many dots lead it, and its dotted name, of all that a text imports."""
    found: dict[tuple[int, str], None] = {}
    for match in _IMPORT.finditer(text):
        source, names, modules = (
            part.decode("utf-8", "replace") if part else "" for part in match.groups()
        )
        if modules:
            words = (module.split() for module in modules.split(","))
            found.update({(0, one[0]): None for one in words if one})
            continue
        level = len(source) - len(source.lstrip("."))
        module = source.lstrip(".")
        if module:
            found[level, module] = None
        for name in _NAME.findall(names):
            found[level, f"{module}.{name}" if module else name] = None
    return tuple(found)


# A launcher reads a tree several times in a process.
_kept = functools.lru_cache(maxsize=256)(_statements)


def _files(names: Callable[[str], frozenset[str]], root: str, module: str) -> Iterator[str]:
    place = root
    for word in filter(None, module.split(".")):
        beside = names(place)
        place = os.path.join(place, word)
        if f"{word}.py" in beside and os.path.isfile(f"{place}.py"):
            yield f"{place}.py"
        if word not in beside:
            return  # an installed package, most often: no more of it lies here
        if "__init__.py" in names(place):
            yield os.path.join(place, "__init__.py")


def _names(folder: str) -> frozenset[str]:
    """What lies in a folder; nothing where it is none."""
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()
