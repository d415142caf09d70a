"""Reading a request document that may be wrong anywhere: what stands where."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from launchers.core.model.unknown import as_text

_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_DIGITS = 19  # of what 64 bits hold
# Hosts or ranks: more than anybody has, and than --instances times --processes may be.
MOST_RANKS = 1_000_000


def at(document: object, *keys: str) -> Any:
    """The value behind ``keys``, or None where any of them is missing or no object holds it."""
    for key in keys:
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


def mapping(document: object, key: str) -> dict[str, Any]:
    """The object under ``key``; empty where there is none or it is something else."""
    value = at(document, key)
    return dict(value) if isinstance(value, Mapping) else {}


def entries(document: object, key: str) -> list[Mapping[str, Any]]:
    """The objects of the list under ``key``; those that are none are left out."""
    value = at(document, key)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def whole_number(value: object) -> int | None:
    """``4`` of 4 or "4"; None for anything else, as for more digits than a service takes."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 10**_MOST_DIGITS else None
    if not isinstance(value, str) or len(value) > _MOST_DIGITS:
        return None
    return int(value) if value.isdecimal() else None


def rank_count(value: object) -> int | None:
    """As :func:`whole_number` has it, where so many hosts or ranks may be: from 0 to
    :data:`MOST_RANKS`."""
    number = whole_number(value)
    return number if number is not None and 0 <= number <= MOST_RANKS else None


def document_text(document: Any) -> str:
    """``document`` as the JSON text that is printed and sent; a value that is not known here is
    the text that stands for it. A byte that is no UTF-8 (PEP 383) is a ``\\u`` escape."""
    text = json.dumps(as_text(document), indent=2, ensure_ascii=False) + "\n"
    if text.isascii():
        return text
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
