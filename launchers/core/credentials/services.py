"""Values of a service's own form under a name that holds the service's word (services.json)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from launchers.core.credentials.names import NameKind, is_literal, kind_of_name

_DRAWN = re.compile(r"\d|[a-z][A-Z].*[a-z][A-Z]")  # what no word of an identifier is


def kind_of_service(name: str, value: str) -> NameKind:
    """Which credential ``value`` is by the form of a service that ``name`` holds; empty for none.

    Example:
        >>> kind_of_service("dropbox_token", "a" * 14 + "7")
        'a token'
    """
    folded = name.lower()
    for row in _table():
        if not any(word in folded for word in row["words"]):
            continue
        kind: NameKind = "a key" if folded.endswith(tuple(row["names"])) else kind_of_name(name)
        if kind and is_literal(value) and _form(row).fullmatch(value) and _DRAWN.search(value):
            return kind
    return ""


@cache
def _table() -> tuple[Mapping[str, Any], ...]:
    rows = json.loads(Path(__file__).with_name("services.json").read_text("utf-8"))["services"]
    return tuple({**row, "form": _expression(row)} for row in rows)


def _form(row: Mapping[str, Any]) -> re.Pattern[str]:
    form: re.Pattern[str] = row["form"]
    return form


def _expression(row: Mapping[str, Any]) -> re.Pattern[str]:
    taken = len(row["prefix"])
    least, most = (length - taken for length in row["length"])
    return re.compile(f"{re.escape(row['prefix'])}[{row['alphabet']}]{{{least},{most}}}")
