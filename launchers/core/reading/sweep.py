"""Many jobs from one launch.yaml: ``sweep: {jobs: [...]}`` or ``sweep: {matrix: {...}}``.

Each job is the file itself with an entry's keys on top. A key may be a path: ``args.lr`` is the
script's ``--lr``, ``env.SEED`` a variable, ``sagemaker.keep_alive`` a provider's own key.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem, did_you_mean
from launchers.core.reading.wrong_values import shown

KEY = "sweep"
_FORMS = ("jobs", "matrix")
_SHAPE = "sweep: {jobs: [...]} or sweep: {matrix: {KEY: [...]}}"
# More jobs than this are a mistake in a matrix.
MOST_JOBS = 1000


def expand(
    tree: Mapping[str, Any], sweep: Any, place: str
) -> tuple[list[dict[str, Any]], list[Problem]]:
    """The trees of all jobs, in order, and what is wrong with the sweep.

    Args:
        tree: The file without its sweep.
        place: Where the sweep stands, for messages: ``launch.yaml:7: sweep``.
    """
    if not isinstance(sweep, dict) or len(sweep) != 1 or next(iter(sweep)) not in _FORMS:
        found = ", ".join(map(str, sweep)) if isinstance(sweep, dict) else shown(sweep)
        hint = did_you_mean(found, _FORMS)
        return [], [RULES["sweep-shape"].at(place, found or "nothing", _SHAPE, hint)]
    form, content = next(iter(sweep.items()))
    if form == "jobs":
        entries, problems = _listed(content, f"{place}.jobs")
    else:
        entries, problems = _crossed(content, f"{place}.matrix")
    if problems:
        return [], problems
    problems = _twice(entries, f"{place}.{form}")
    return [_with(tree, entry) for entry in entries], problems


def _listed(content: Any, place: str) -> tuple[list[dict[str, Any]], list[Problem]]:
    if not isinstance(content, list) or not content:
        return [], [RULES["sweep-shape"].at(place, "no list of jobs", "a list of mappings")]
    problems = [
        RULES["sweep-shape"].at(f"{place}[{index}]", shown(entry), "a mapping of keys")
        for index, entry in enumerate(content)
        if not isinstance(entry, dict)
    ]
    return ([] if problems else content), problems


def _crossed(content: Any, place: str) -> tuple[list[dict[str, Any]], list[Problem]]:
    if not isinstance(content, dict) or not content:
        return [], [RULES["sweep-shape"].at(place, "no mapping", "KEY: [VALUE, ...]")]
    problems = [
        RULES["sweep-shape"].at(f"{place}.{key}", "no list of values", "a list with a value")
        for key, values in content.items()
        if not isinstance(values, list) or not values
    ]
    if problems:
        return [], problems
    count = 1
    for values in content.values():
        count *= len(values)
    if count > MOST_JOBS:
        expected = f"at most {MOST_JOBS}"
        return [], [RULES["sweep-too-large"].at(place, f"{count} jobs", expected)]
    crossed = itertools.product(*content.values())
    return [dict(zip(content, values, strict=True)) for values in crossed], []


def _twice(entries: list[dict[str, Any]], place: str) -> list[Problem]:
    first: dict[str, int] = {}
    problems = []
    for index, entry in enumerate(entries):
        text = json.dumps(entry, sort_keys=True, default=str)
        before = first.setdefault(text, index)
        if before != index:
            problems.append(
                RULES["sweep-twice"].at(
                    f"{place}[{index}]",
                    f"the same as [{before}]",
                    fix="remove one of the two; the same job again is a run with --again",
                )
            )
    return problems


def _with(tree: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """``tree`` with the keys of ``entry`` on top."""
    result: dict[str, Any] = copy.deepcopy(dict(tree))
    for key, value in entry.items():
        first, dot, rest = key.partition(".")
        if first == "args" and dot:
            result["args"] = _with_argument(result.get("args"), rest, value)
        elif dot:
            # What is no mapping is wrong there, and is told by its own line in the file.
            inner = result.get(first)
            result[first] = _with(inner if isinstance(inner, dict) else {}, {rest: value})
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = _with(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def _with_argument(arguments: Any, name: str, value: Any) -> Any:
    if arguments is None:
        return {name: value}
    if isinstance(arguments, dict):
        return {**arguments, name: value}
    if not isinstance(arguments, list):
        return arguments  # which is wrong, and told so
    # A list of words: one that names the argument already gives way, whole.
    return [*_without(arguments, f"--{name}"), f"--{name}", value]


def _without(words: list[Any], flag: str) -> Iterator[Any]:
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word == flag:
            skip = True
        elif not str(word).startswith(f"{flag}="):
            yield word
