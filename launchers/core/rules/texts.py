"""Texts of a document that can stand on a command line here, and in no request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.printable import is_utf8
from launchers.core.rules.model_check import place


def problems_in_texts(document: Any, path: str = "$") -> list[Problem]:
    """Each text of ``document``, or name in it, with bytes that are no UTF-8: JSON cannot say them,
    and another machine would get other ones."""
    if isinstance(document, str):
        return [] if is_utf8(document) else [_not_utf8(path)]
    found: list[Problem] = []
    if isinstance(document, Mapping):
        for key, value in document.items():
            below = place(path, key)
            found += [] if is_utf8(str(key)) else [_not_utf8(below)]
            found += problems_in_texts(value, below)
    elif isinstance(document, list):
        for index, value in enumerate(document):
            found += problems_in_texts(value, f"{path}[{index}]")
    return found


def _not_utf8(path: str) -> Problem:
    return RULES["file-text"].at(path, "a byte that is no UTF-8")
