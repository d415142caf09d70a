"""Which fields of two documents differ, each on one line; no value that may be a credential."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from launchers.core.credentials.search import flagged_arguments, looks_like_credential
from launchers.core.rules.model_check import place, shortened, shown

_SHOWN = 5
_LONG = 40
# By what the items of a list are told apart, in the documents of all providers.
_NAMES = ("name", "Name", "Key", "ChannelName", "InstanceGroupName")
_VALUES = ("value", "Value")


class _Absent:
    """Stands for a field that one of the two lacks."""


_ABSENT = _Absent()


class _Difference(NamedTuple):
    path: str
    name: str  # of the value, by which it may be known as a credential
    before: Any
    now: Any


class Fields(NamedTuple):
    """What differs.

    Attributes:
        lines: For a person; empty where nothing does.
        unknown: Whether fields were left out because their values are not known yet.
    """

    lines: tuple[str, ...]
    unknown: bool


def differing_fields(
    before: Mapping[str, Any], now: Mapping[str, Any], unknown: Collection[str] = ()
) -> Fields:
    """The fields that differ, the first few of them.

    Args:
        unknown: Placeholders: a value in which one stands may yet become what it was.
    """
    lines: dict[tuple[str, str], str] = {}
    skipped = False
    for one in _differences(before, now, "$", ""):
        if _holds(one.now, unknown):
            skipped = True
            continue
        said = _said(one)
        # The same change in each of many pools is one.
        lines.setdefault((one.name, said), f"{one.path}: {said}")
    found = tuple(lines.values())
    if len(found) > _SHOWN:
        found = (*found[:_SHOWN], f"and {len(found) - _SHOWN} more fields")
    return Fields(found, skipped)


def _differences(before: Any, now: Any, path: str, name: str) -> Iterator[_Difference]:
    if before == now:
        return
    if isinstance(before, str) and isinstance(now, str):
        lists = _texts_of(before), _texts_of(now)
        if None not in lists:
            before, now = lists
    if isinstance(before, dict) and isinstance(now, dict):
        yield from _in_objects(before, now, path, name)
    elif isinstance(before, list) and isinstance(now, list):
        yield from _in_lists(before, now, path, name)
    else:
        yield _Difference(path, name, before, now)


def _in_objects(
    before: Mapping[str, Any], now: Mapping[str, Any], path: str, name: str
) -> Iterator[_Difference]:
    for key in {**before, **now}:
        inner = name if key in _VALUES and name else key
        pair = before.get(key, _ABSENT), now.get(key, _ABSENT)
        yield from _differences(*pair, place(path, key), inner)


def _in_lists(before: list[Any], now: list[Any], path: str, name: str) -> Iterator[_Difference]:
    if _are_texts(before) and _are_texts(now) and not _hold_lists(before, now):
        yield _Difference(path, name, before, now)
        return
    by_name = _by_name(before), _by_name(now)
    if by_name[0] is not None and by_name[1] is not None:
        yield from _in_objects(by_name[0], by_name[1], path, name)
    else:
        if len(before) != len(now):
            yield _Difference(path, name, before, now)
        for number, pair in enumerate(zip(before, now, strict=False)):
            yield from _differences(*pair, f"{path}[{number}]", name)


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """The items of a list by their names, where each has one of its own."""
    found = {}
    for item in items:
        names = [item[key] for key in _NAMES if key in item] if isinstance(item, dict) else []
        if len(names) != 1 or not isinstance(names[0], str):
            return None
        found[names[0]] = item
    return found if len(found) == len(items) else None


def _texts_of(value: str) -> list[str] | None:
    """The texts in ``value`` where that is a list of them in JSON, as arguments are."""
    if not value.startswith("["):
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) and _are_texts(found) else None


def _hold_lists(before: list[str], now: list[str]) -> bool:
    """Whether the texts that differ are lists in JSON themselves, one for one."""
    pairs = [pair for pair in zip(before, now, strict=False) if pair[0] != pair[1]]
    lists = all(_texts_of(text) is not None for pair in pairs for text in pair)
    return len(before) == len(now) and lists


def _are_texts(items: list[Any]) -> bool:
    return all(isinstance(item, str) for item in items)


def _holds(value: Any, words: Collection[str]) -> bool:
    """Whether one of ``words`` stands in a text, or in one of a list of texts."""
    texts = value if isinstance(value, list) else [value]
    return any(word in text for text in texts if isinstance(text, str) for word in words)


def _said(one: _Difference) -> str:
    before, now = one.before, one.now
    if _is_hidden(one.name, before) or _is_hidden(one.name, now):
        return "another value, which is not shown"
    if isinstance(before, list) and isinstance(now, list):
        if not (_are_texts(before) and _are_texts(now)):
            return f"{len(now)} items, was {len(before)}"
        before, now = _words_that_differ(before, now)
    if isinstance(before, str) and isinstance(now, str):
        before, now = _ends_that_differ(before, now)
    return f"{_text(now)}, was {_text(before)}"


def _is_hidden(name: str, value: Any) -> bool:
    """Whether a value, or a word of it, may be a credential."""
    if isinstance(value, str):
        words = _texts_of(value) or value.split()
        return bool(looks_like_credential(name, value) or flagged_arguments(words))
    if isinstance(value, list):
        texts = [item for item in value if isinstance(item, str)]
        return bool(flagged_arguments(texts)) or any(_is_hidden(name, text) for text in texts)
    return False


def _words_that_differ(before: list[str], now: list[str]) -> tuple[str, str]:
    """Without the words that both begin and end with, but for the option that a value is of."""
    start = _common(before, now)
    if start and before[start - 1].startswith("-"):
        start -= 1
    before, now = before[start:], now[start:]
    end = _common(before[::-1], now[::-1])
    return " ".join(before[: len(before) - end]), " ".join(now[: len(now) - end])


def _ends_that_differ(before: str, now: str) -> tuple[str, str]:
    """Long texts without what both begin with."""
    common = _common(before, now)
    if max(len(before), len(now)) <= _LONG or common < _LONG // 2:
        return before, now
    cut = max(before.rfind(sign, 0, common) for sign in " ,/:") + 1
    return f"...{before[cut:]}", f"...{now[cut:]}"


def _common(before: Sequence[str], now: Sequence[str]) -> int:
    """How many items both begin with."""
    pairs = zip(before, now, strict=False)
    return next(
        (at for at, (one, other) in enumerate(pairs) if one != other), min(map(len, (before, now)))
    )


def _text(value: Any) -> str:
    if value is _ABSENT or value == "":
        return "none"
    if not isinstance(value, str):
        return shown(value)
    lines = value.count("\n")
    return f"a text of {lines + 1} lines" if lines else f"'{shortened(value)}'"
