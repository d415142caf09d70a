"""launch.yaml: read, checked as a whole, and its JSON schema.

The dataclasses that the flags come from say what each key may be. Scalars under ``args`` and
``env`` keep the text that the file has (``1.10`` stays ``1.10``): they reach the script verbatim.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launchers.core.bounded import read_text
from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError, Problem, did_you_mean
from launchers.core.reading.job_values import VERBATIM, fields_of, key_named
from launchers.core.reading.sweep import KEY, expand
from launchers.core.reading.text_file import as_mapping
from launchers.core.reading.yaml_nodes import compose
from launchers.core.reading.yaml_values import YamlValues
from launchers.core.registry import PROVIDERS, provider
from launchers.core.spec.job import JobSpec, ProviderOptions, key_of, option_fields
from launchers.core.spec.request_type import RequestFields
from launchers.core.spec.value_types import ValueType

DEFAULT_FILE = "launch.yaml"


def read(path: Path) -> dict[str, Any]:
    """The fields that ``path`` gives, by field name; a provider's own under its name.

    Returns:
        ``{"instances": 2, "arguments": (...), "sagemaker": {"role": ...}}`` with only the keys
        that the file has. A sweep's jobs stand under ``sweep``, each such a mapping of its own.

    Raises:
        LaunchError: With every problem in the file, each with its line.
    """
    tree, lines = _load(path)
    tree = as_mapping(tree, str(path))
    problems: list[Problem] = []
    if KEY not in tree:
        result = _read_tree(tree, path, lines, problems)
    else:
        line = lines.get((KEY,))
        trees, problems = expand(
            {key: value for key, value in tree.items() if key != KEY},
            tree[KEY],
            f"{path.name}:{line}: {KEY}" if line else KEY,
        )
        result = {KEY: [_read_tree(one, path, lines, problems) for one in trees]}
    if problems:
        # Jobs of a sweep share their mistakes.
        raise LaunchError(dict.fromkeys(problems))
    return result


def _read_tree(
    tree: dict[str, Any],
    path: Path,
    lines: Mapping[tuple[Any, ...], int],
    problems: list[Problem],
) -> dict[str, Any]:
    """The fields of one job; what is wrong goes to ``problems``."""
    sections = {name: tree.pop(name) for name in list(tree) if name in PROVIDERS}
    result = _Section((), JobSpec, path, lines).fields(tree, problems)
    for name, values in sections.items():
        section = _Section((name,), provider(name).definer.options, path, lines)
        result[name] = section.fields({} if values is None else values, problems)
    return result


def schema() -> dict[str, Any]:
    """The JSON schema of launch.yaml, for editors (``launch schema``)."""
    result = _object_schema(JobSpec)
    for name in PROVIDERS:
        described = provider(name)
        section = _object_schema(described.definer.options)
        section["description"] = f"What only {described.title} has."
        result["properties"][name] = section
    result["properties"][KEY] = {
        "type": "object",
        "properties": {"jobs": {"type": "array"}, "matrix": {"type": "object"}},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
        "description": "Many jobs: this file, with each entry's keys on top.",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "launch.yaml",
        **result,
    }


def _object_schema(cls: type) -> dict[str, Any]:
    properties = {}
    for item, kind in option_fields(cls):
        properties[key_of(item)] = {**kind.json_schema, "description": item.metadata["help"]}
    return {"type": "object", "properties": properties, "additionalProperties": False}


@dataclass(frozen=True)
class _Section:
    """A part of the file: its keys are those of one dataclass.

    Attributes:
        prefix: Where it lies, ``("sagemaker",)``.
        lines: Of each key in the file.
    """

    prefix: tuple[str, ...]
    cls: type[JobSpec] | type[ProviderOptions]
    path: Path
    lines: Mapping[tuple[Any, ...], int]

    def fields(self, values: Any, problems: list[Problem]) -> dict[str, Any]:
        """The fields that the section gives, by field name."""
        if not isinstance(values, dict):
            place, expected = self._place(self.prefix), "a mapping of keys"
            problems.append(RULES["file-value"].at(place, _shown(values), expected))
            return {}

        def problem_at(key: str, value_type: ValueType | None) -> Problem:
            place = self._place((*self.prefix, key))
            if value_type is None:
                return self._unknown(key, place)
            return RULES["file-value"].at(place, _shown(values[key]), value_type.expected)

        return fields_of(values, option_fields(self.cls), problem_at, problems)

    def _place(self, location: tuple[str, ...]) -> str:
        line = self.lines.get(location)
        where = ".".join(location)
        return f"{self.path.name}:{line}: {where}" if line else f"{self.path.name}: {where}"

    def _unknown(self, key: str, place: str) -> Problem:
        keys = [key_of(item) for item, _ in option_fields(self.cls)]
        if not self.prefix:
            keys += PROVIDERS
        named = key_named(key, option_fields(JobSpec))
        if named:
            fix = f"`{named}:` belongs at the top" if self.prefix else f"did you mean {named}?"
        else:
            owners = () if self.prefix else [name for name in PROVIDERS if key in _own_keys(name)]
            fix = f"`{key}:` belongs under `{owners[0]}:`" if owners else did_you_mean(key, keys)
            fix = self._request_hint(key) or fix
        expected = "one of " + ", ".join(sorted(keys))
        return RULES["file-key-unknown"].at(place, "unknown key", expected, fix)

    def _request_hint(self, key: str) -> str:
        """For a field of the service's own request that stands beside the flags' keys."""
        blocks = [kind for item, kind in option_fields(self.cls) if isinstance(kind, RequestFields)]
        known = [key in kind.json_schema["properties"] for kind in blocks]
        return f"`{key}:` belongs under `request:`" if any(known) else ""


def _own_keys(name: str) -> list[str]:
    return [key_of(item) for item, _ in option_fields(provider(name).definer.options)]


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _load(path: Path) -> tuple[Any, dict[tuple[Any, ...], int]]:
    """The file's tree, and the line of every key in it."""
    text = read_text(str(path), "name another with -f, or none with --no-file")
    values = YamlValues(path.name, text_keys=True, verbatim=_is_verbatim)
    return values.of(compose(text, path.name)), values.lines


def _is_verbatim(location: tuple[Any, ...]) -> bool:
    """Whether a scalar reaches the script as the file has it, also as a part of a sweep."""
    if location[:1] == (KEY,):
        location = location[3:] if location[1:2] == ("jobs",) else location[2:]
    return bool(location) and str(location[0]).partition(".")[0] in VERBATIM
