"""The keys of a job's document and their types, which is all that is sure before anything else is
read in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from launchers.core.model.problems import Problem
from launchers.core.rules.model_check import (
    not_one_of,
    place,
    shown,
    unknown_key,
    without_value,
    wrong_type,
)
from launchers.core.spec.value_types import Duration
from launchers.spark.catalogue import RULES
from launchers.spark.document import KIND
from launchers.spark.options import DEPLOY_MODES

_TEXTS = (
    "kind",
    "name",
    "master",
    "deploy_mode",
    "application",
    "driver_python",
    "spark_home",
    "folder",
)
# An empty one of these starts nothing that could be found again.
_NOT_EMPTY = ("name", "master", "application", "folder")
_LISTS = ("files", "archives", "arguments")
_OBJECTS = ("conf", "environment")
_LIMIT = "max_runtime_seconds"
_LONGEST = Duration().maximum
_KEYS = (*_TEXTS, *_LISTS, *_OBJECTS, _LIMIT)


def problems_in_shape(document: Mapping[str, Any]) -> list[Problem]:
    """Every key that is unknown, missing, or of another type."""
    problems = list(_in_keys(document))
    for key in _TEXTS:
        if key in document:
            problems += _in_text(key, document[key])
    for key in _LISTS:
        if key in document:
            problems += _in_list(document[key], f"$.{key}")
    for key in _OBJECTS:
        if key in document:
            problems += _in_object(document[key], f"$.{key}")
    limit = document.get(_LIMIT)
    is_whole = isinstance(limit, int) and not isinstance(limit, bool)
    if limit is not None and not is_whole:
        problems.append(wrong_type(limit, "a whole number of seconds, or null", f"$.{_LIMIT}"))
    elif limit is not None and not 1 <= limit <= _LONGEST:
        expected = f"1 to {_LONGEST:,}, ten years"
        problems.append(RULES["model-range"].at(f"$.{_LIMIT}", shown(limit), expected))
    return problems


def _in_keys(document: Mapping[str, Any]) -> Iterator[Problem]:
    missing = [key for key in _KEYS if key not in document and key != _LIMIT]
    for key in document:
        if key not in _KEYS:
            problem = unknown_key(KIND, str(key), _members, KIND, "$")
            # One that is misspelt is one mistake, not an unknown key and a missing one.
            missing = [one for one in missing if problem.fix != f"did you mean {one}?"]
            yield problem
    for key in missing:
        kind = "text" if key in _TEXTS else "a list" if key in _LISTS else "an object"
        yield RULES["model-missing"].at(f"$.{key}", "missing", kind)


def _members(name: str) -> list[tuple[str, str, str | None]]:
    return [(key, "", None) for key in _KEYS] if name == KIND else []


def _in_text(key: str, value: object) -> Iterator[Problem]:
    path = f"$.{key}"
    if not isinstance(value, str):
        yield wrong_type(value, "text", path)
    elif key == "deploy_mode" and value not in DEPLOY_MODES:
        yield not_one_of(DEPLOY_MODES, value, path)
    elif key == "kind" and value != KIND:
        yield not_one_of((KIND,), value, path)
    elif key in _NOT_EMPTY and not value.strip():
        yield RULES["model-missing"].at(path, "empty", "text")


def _in_list(value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield wrong_type(value, "a list", path)
        return
    for index, entry in enumerate(value):
        if not isinstance(entry, str):
            yield wrong_type(entry, "text", f"{path}[{index}]")


def _in_object(value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield wrong_type(value, "an object", path)
        return
    for key, entry in value.items():
        where = place(path, key)
        if not isinstance(key, str):
            yield wrong_type(key, "text as its key", where)
        elif not isinstance(entry, str):
            yield without_value(wrong_type(entry, "text", where))
