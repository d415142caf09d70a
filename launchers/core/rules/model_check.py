"""What a check against a service's own model says of a value: where it stands, and how it looks.

Each provider has its model's rules; the words, the places and the care for what may be a
credential are the same for all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from launchers.core.catalogue import RULES
from launchers.core.credentials.search import looks_like_credential
from launchers.core.model.problems import Problem, did_you_mean, errors

# What a structure has: a key, the steps from it to what it holds ("" or "[0]"), and the name of
# the structure there, or None for anything else.
Members = Callable[[str], Iterable[tuple[str, str, str | None]]]


def place(path: str, key: object) -> str:
    """``$.Environment.NAME``; in brackets what is no plain name."""
    text = "(hidden)" if looks_like_credential("", str(key)) else shortened(str(key))
    if re.fullmatch(r"[A-Za-z_][\w-]*", text, re.ASCII):
        return f"{path}.{text}"
    return f"{path}[{json.dumps(text, ensure_ascii=False)}]"


def shown(value: object) -> str:
    """``value`` for a message: short, and not at all where it may be a credential."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        credential = looks_like_credential("", value)
        return f"what looks like {credential}" if credential else f"'{shortened(value)}'"
    return shortened(json.dumps(value, default=str))


def shortened(text: str, length: int = 60) -> str:
    """``text``, or its beginning and three dots where it is longer than ``length`` characters."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def wrong_type(value: object, kind: str, path: str) -> Problem:
    """``value`` is not ``kind`` (``a whole number``), with what its quotes have to do with it."""
    fix = ""
    if isinstance(value, str) and kind != "text" and re.fullmatch(r"-?\d+|true|false", value):
        fix = "write it without quotes"
    elif kind == "text" and isinstance(value, (bool, int, float)):
        fix = "write it in quotes"
    elif isinstance(value, str):
        fix = fix_of_placeholder(value)
    return RULES["model-type"].at(path, shown(value), kind, fix)


def not_one_of(allowed: Collection[str], value: str, path: str, otherwise: str = "") -> Problem:
    """``value`` is none of ``allowed``; the fix is the nearest one, else ``otherwise``."""
    few = len(allowed) <= 8
    expected = f"one of {', '.join(allowed)}" if few else f"one of {len(allowed)} known names"
    fix = fix_of_placeholder(value) or did_you_mean(value, allowed) or otherwise
    return RULES["model-enum"].at(path, shown(value), expected, fix)


def fix_of_placeholder(value: str) -> str:
    """What to do about a text that is yet to be filled in; empty for any other."""
    filled_in_later = _PLACEHOLDER.search(value)
    return "it is a placeholder: fill it in, and check what comes out" if filled_in_later else ""


# As envsubst, Jinja and sed replace them, and as a person leaves them.
_PLACEHOLDER = re.compile(r"\$\{[^{}]+\}|\{\{.+?\}\}|^(?:<[^<>]+>|__[A-Z]\w*__|%\w+%)$")


def unknown_key(structure: str, key: str, members: Members, root: str, path: str) -> Problem:
    """A key that the ``structure`` at ``path`` lacks: misspelt, or put one level too high or low.

    Args:
        members: The model: what each structure has.
        root: The structure of the whole document.
    """
    own = [name for name, _, _ in members(structure)]
    near = did_you_mean(key, own)
    homes = (
        [] if near else [home for home in _homes(key, members, root) if home != place(path, key)]
    )
    fix = f"it belongs at {' or '.join(homes[:3])}" if homes else near
    if not fix and path != "$":
        fix = f"its keys are {', '.join(own)}"
    return RULES["model-key"].at(place(path, key), "an unknown key", f"a key of {structure}", fix)


def _homes(key: str, members: Members, root: str) -> list[str]:
    """The paths at which a document has ``key``, whatever its case; the highest first,
    those in lists last."""
    found = []
    waiting = [("$", root)]
    while waiting:
        path, name = waiting.pop(0)
        for member, steps, target in members(name):
            if member.lower() == key.lower():
                found.append(place(path, member))
            if target is not None:
                waiting.append((place(path, member) + steps, target))
    return sorted(found, key=lambda home: "[0]" in home)


def one_a_number(problems: Iterable[Problem]) -> list[Problem]:
    """``problems`` without the model's range of a number of which a rule says more."""
    found = list(problems)
    told = {one.path for one in errors(found) if one.rule != "model-range"}
    return [one for one in found if one.rule != "model-range" or one.path not in told]


def without_value(problem: Problem) -> Problem:
    """The same for a value that may be a secret, such as an environment variable's."""
    if problem.rule not in ("model-pattern", "model-enum", "model-type"):
        return problem
    found = "a value with a line break" if "line break" in problem.found else "another value"
    if problem.rule == "model-type":
        found = "a value that is not text"
    return replace(problem, found=found)
