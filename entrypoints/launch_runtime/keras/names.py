"""What Keras 3 alone has, and whether a text may use any of it."""

from __future__ import annotations

import functools
import json
import os
import re
import zipfile
from typing import NamedTuple

NEW_PACKAGES = ("keras_core", "keras_hub", "keras_rs")  # they import Keras 3 themselves

_NAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "names.json")
# What is directly in keras has everyday names (random, tree, Variable); these are their forms.
_AT_THE_ROOT = (
    r"\bkeras\.(?:{names})\b|\bkeras[ \t]+as\b|=[ \t]*(?:\w[\w.]*\.)?keras\b(?!\.)"
    r"|from[ \t]+[\w.]*\bkeras[ \t]+import[ \t]*(?:\([^)]*|[^\n]*)\b(?:{names})\b"
)
_MODEL_FILES = (b".keras'", b'.keras"')
_VARIABLES = (b"KERAS_BACKEND", b"TF_USE_LEGACY_KERAS")
_WORDS = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(128))
_WORDS += b" " * 128


def only_in_keras_3(name: str) -> str:
    """The part of ``name`` (without the leading ``keras.``) that Keras 2 lacks; "" for none."""
    words = name.split(".")
    starts = (".".join(words[: count + 1]) for count in range(len(words)))
    return next((start for start in starts if start in _names()), "")


def parents_of_new_names() -> dict[str, list[str]]:
    """The modules below ``keras`` (the root is ``""``), and what of each only Keras 3 has."""
    with open(_NAMES, encoding="utf-8") as file:
        table: dict[str, list[str]] = json.load(file)["names"]
    return table


def version_of_file(path: str) -> str:
    """The Keras that wrote a ``.keras`` file, ``3.15.1``; "" where the file does not say."""
    try:
        with zipfile.ZipFile(path) as archive:
            metadata = json.loads(archive.read("metadata.json"))
        return str(metadata.get("keras_version") or "")
    except (OSError, KeyError, ValueError, AttributeError, zipfile.BadZipFile):
        return ""


@functools.lru_cache(maxsize=None)
def _names() -> frozenset[str]:
    return frozenset(
        f"{parent}.{name}".lstrip(".")
        for parent, names in parents_of_new_names().items()
        for name in names
    )


class _Signs(NamedTuple):
    """Words of which a file that needs Keras 3 has at least one."""

    below: frozenset[bytes]  # of names below keras.layers and the like
    root: frozenset[bytes]  # of those directly in keras
    form: re.Pattern[bytes]  # of their use
    other: frozenset[bytes]


@functools.lru_cache(maxsize=None)
def _signs() -> _Signs:
    below = frozenset(name.rpartition(".")[2].encode() for name in _names() if "." in name)
    root = sorted(name for name in _names() if "." not in name)
    form = re.compile(_AT_THE_ROOT.replace("{names}", "|".join(root)).encode())
    other = frozenset([*_VARIABLES, *(name.encode() for name in NEW_PACKAGES)])
    return _Signs(below, frozenset(name.encode() for name in root), form, other)


def may_be_new(text: bytes) -> bool:
    """Whether it is worth parsing: quick, and never False where a ``reader.Reader`` finds something
    that is written in the usual way."""
    if b"keras" not in text and b"KERAS" not in text:
        return False
    signs = _signs()
    words = frozenset(text.translate(_WORDS).split())
    if words & signs.below or words & signs.other or any(end in text for end in _MODEL_FILES):
        return True
    return bool(words & signs.root and signs.form.search(text))
