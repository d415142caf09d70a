"""What an AI Platform Training job said: its configuration file with gcloud's flags on top.

The file has the shape of the API's Job; flags win, as they do for gcloud. The table of both is
ai_platform.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from launchers.core.model.problems import Problem, did_you_mean
from launchers.core.rules.model_check import place, shown, unknown_key, wrong_type
from launchers.vertex.catalogue import RULES

_FILE = Path(__file__).with_name("ai_platform.json")
_ROOT = "Job"
INPUT = "trainingInput"  # of a Job: nearly all that is said of it
# Flags of the import itself: where the code lies, which neither file nor flags of gcloud say.
CODE_FLAGS = ("--source", "--script")
_ACCELERATOR = "acceleratorConfig"


@dataclass(frozen=True)
class Given:
    """An old job, file and flags together.

    Attributes:
        job: The Job, of the right shape; values that were wrong are left out.
        flags: What has no place in a Job: ``--package-path``, ``--source``, ``JOB`` and so on.
        origins: How the user said a value, by its path in the Job: the flag that gave it, or the
            path as the file spells it.
        problems: What was wrong with the shape.
    """

    job: Mapping[str, Any]
    flags: Mapping[str, str]
    origins: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def get(self, path: str) -> Any:
        """The value at ``trainingInput.masterConfig.imageUri``; None where it is not said."""
        return value_at(self.job, path)

    def where(self, path: str) -> str:
        """How the user said it: the flag, else the path in the file."""
        return self.origins.get(path, path)


@lru_cache(maxsize=1)
def load() -> Mapping[str, Any]:
    """The table, ai_platform.json."""
    table: dict[str, Any] = json.loads(_FILE.read_bytes())
    return table


def read_words(words: Sequence[str]) -> tuple[dict[str, str], list[Problem]]:
    """The flags of one gcloud command line, each with its value, and ``JOB``.

    A switch has the value ``true``. The words ``gcloud ml-engine jobs submit training`` may stand
    before them.
    """
    table = load()
    known = [*table["flags"], *table["own_flags"], *table["gclouds_flags"], *CODE_FLAGS]
    flags: dict[str, str] = {}
    problems = []
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            if word in ("gcloud", "beta", "alpha", "ml-engine", "ai-platform", "jobs", "submit"):
                continue
            if word == "training" and "JOB" not in flags:
                continue
            if "JOB" in flags:
                expected = "one name of a job; the script's arguments go after `--`"
                problems.append(RULES["import-word"].at(word, "one word too many", expected))
            flags.setdefault("JOB", word)
        elif name not in known:
            expected = "a flag of gcloud ml-engine jobs submit training"
            fix = did_you_mean(name, known)
            problems.append(RULES["import-flag"].at(name, "no such flag", expected, fix))
            if not equals and left and not left[0].startswith("-"):
                left.pop(0)
        elif name in table["switches"]:
            flags[name] = value or "true"
        elif equals or left:
            flags[name] = value if equals else left.pop(0)
        else:
            problems.append(RULES["import-flag"].at(name, "no value", "a value"))
    return flags, problems


def merge(config: Mapping[str, Any], flags: Mapping[str, str]) -> Given:
    """The file with the flags on top. Neither is changed."""
    problems: list[Problem] = []
    origins: dict[str, str] = {}
    job = _checked(_ROOT, config, ("", ""), problems, origins)
    others = {}
    for flag, text in flags.items():
        path = load()["flags"].get(flag)
        if path is None:
            others[flag] = text
            continue
        value, problem = _flag_value(flag, path, text)
        if problem is not None:
            problems.append(problem)
            continue
        _put(job, path, value)
        origins[path] = flag
    return Given(job, others, origins, tuple(problems))


def value_at(tree: Any, path: str) -> Any:
    """What stands at a dotted path; None where nothing does."""
    for key in path.split("."):
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(key)
    return tree


def _checked(
    name: str,
    value: Mapping[str, Any],
    paths: tuple[str, str],
    problems: list[Problem],
    origins: dict[str, str],
) -> Any:
    """``value`` as the structure ``name``, without what has no place there. Keys in snake_case are
    read as gcloud sent them on.

    Args:
        paths: Where it stands in the file, and in the Job.
        origins: Takes the file's path of each value whose path in the Job is another.
    """
    fields = load()["structures"][name]
    result = {}
    for spelt, entry in value.items():
        key = _api_key(spelt, fields, value)
        where, path = (place(paths[0], spelt).lstrip("."), place(paths[1], key).lstrip("."))
        if where != path:
            origins[path] = where
        if key not in fields:
            problem = unknown_key(name, str(key), _members, _ROOT, paths[0] or "$")
            fix = problem.fix.replace("$.", "")
            problems.append(RULES["import-key"].at(where, problem.found, problem.expected, fix))
            continue
        kind = fields[key]
        if kind in load()["structures"]:
            if isinstance(entry, Mapping):
                result[key] = _checked(kind, entry, (where, path), problems, origins)
            elif entry not in (None, ""):
                problems.append(wrong_type(entry, "an object", where))
            continue
        if entry is None:
            continue
        try:
            result[key] = _KINDS[kind](entry)
        except ValueError:
            expected = _EXPECTED[kind]
            problems.append(RULES["import-value"].at(where, shown(entry), expected))
    return result


def _api_key(key: Any, fields: Mapping[str, str], value: Mapping[str, Any]) -> Any:
    """``masterType`` for ``master_type``, where the file has not both."""
    head, *words = str(key).split("_")
    name = head + "".join(word[:1].upper() + word[1:] for word in words)
    return name if name in fields and name not in value else key


def _text(value: Any) -> str:
    """A YAML file may have 1.15 for a version."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError
    return str(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,6}", str(value), re.ASCII):
        raise ValueError
    return int(value)


def _truth(value: Any) -> bool:
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    if str(value).lower() not in words:
        raise ValueError
    return words[str(value).lower()]


def _list(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise ValueError
    return [_text(entry) for entry in value]


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError
    return {str(key): _text(entry) for key, entry in value.items()}


def _other(value: Any) -> Any:
    return value


_KINDS = {
    "text": _text,
    "count": _count,
    "truth": _truth,
    "list": _list,
    "texts": _texts,
    "other": _other,
}
_EXPECTED = {
    "text": "a text",
    "count": "a whole number",
    "truth": "true or false",
    "list": "a list of texts",
    "texts": "an object of texts",
}


def _flag_value(flag: str, path: str, text: str) -> tuple[Any, Problem | None]:
    """A flag's text as the value that the Job has there."""
    key = path.rpartition(".")[2]
    if key in (_ACCELERATOR, "labels"):
        parts = [pair.partition("=") for pair in text.split(",")]
        pairs = {name: value for name, _, value in parts}
        whole = all(equals for _, equals, _ in parts)
        if whole and key == "labels":
            return pairs, None
        if whole and set(pairs) <= {"type", "count"} and pairs.get("count", "1").isdecimal():
            # gcloud writes type nvidia-tesla-k80 for NVIDIA_TESLA_K80.
            kind = pairs.get("type", "").upper().replace("-", "_")
            return {"type": kind, "count": int(pairs.get("count", "1"))}, None
        expected = "KEY=VALUE,..." if key == "labels" else "count=COUNT,type=TYPE"
        return None, RULES["import-flag"].at(flag, text[:60], expected)
    if key == "scaleTier":
        return text.upper().replace("-", "_"), None
    name = "TrainingInput" if path.count(".") == 1 else "ReplicaConfig"
    kind = load()["structures"][name].get(key, "text")
    try:
        return _KINDS[kind](text), None
    except ValueError:
        return None, RULES["import-flag"].at(flag, text[:60], _EXPECTED[kind])


def _put(job: dict[str, Any], path: str, value: Any) -> None:
    *folders, last = path.split(".")
    for folder in folders:
        job = job.setdefault(folder, {})
    job[last] = value


def _members(name: str) -> Iterator[tuple[str, str, str | None]]:
    for key, kind in load()["structures"][name].items():
        yield key, "", kind if kind in load()["structures"] else None
