"""launch.yaml: read, checked as a whole, and its JSON schema.

pydantic does the checking, over the same dataclass that the flags come from; it is imported only
here, so a job that comes from flags alone does not pay for it. Scalars under ``args`` and ``env``
keep the text that the file has (``1.10`` stays ``1.10``), since they reach the script verbatim.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

from launchers.core.model.problems import LaunchError, Problem, did_you_mean
from launchers.core.reading.sweep import KEY, expand
from launchers.core.registry import PROVIDERS, provider
from launchers.core.spec.job import JobSpec, ProviderOptions, key_of, option_fields

DEFAULT_FILE = "launch.yaml"
_VERBATIM = ("args", "env")
_MISSING = "a value"


def read(path: Path) -> dict[str, Any]:
    """The fields that ``path`` gives, by field name; a provider's own under its name.

    Returns:
        ``{"instances": 2, "arguments": (...), "sagemaker": {"role": ...}}`` with only the keys
        that the file has. A sweep's jobs stand under ``sweep``, each such a mapping of its own.

    Raises:
        LaunchError: With every problem in the file, each with its line.
    """
    tree, lines = _load(path)
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise LaunchError(
            Problem(str(path), type(tree).__name__, "a mapping of keys", rule="file-shape")
        )
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
    result = _validated(tree, JobSpec, (), path, lines, problems)
    for name, section in sections.items():
        result[name] = _validated(
            {} if section is None else section,
            provider(name).options,
            (name,),
            path,
            lines,
            problems,
        )
    return result


def schema() -> dict[str, Any]:
    """The JSON schema of launch.yaml, for editors (``launch schema``)."""
    result = _object_schema(JobSpec)
    for name in PROVIDERS:
        described = provider(name)
        section = _object_schema(described.options)
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


def _validated(
    tree: Any,
    cls: type[JobSpec] | type[ProviderOptions],
    prefix: tuple[str, ...],
    path: Path,
    lines: Mapping[tuple[Any, ...], int],
    problems: list[Problem],
) -> dict[str, Any]:
    from pydantic import TypeAdapter, ValidationError

    shape = _file_shape(cls)
    keys = {key_of(item): item.name for item, _ in option_fields(cls)}
    try:
        value: Any = TypeAdapter(shape).validate_python(tree)
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=True):
            location = prefix + tuple(item["loc"][:1])
            problems.append(
                _problem(item, location, path, lines, [*keys, *(PROVIDERS if not prefix else ())])
            )
        return {}
    return {keys[key]: getattr(value, key) for key in tree}


def _file_shape(cls: type) -> type:
    """``cls`` with only what a file may give, under the file's own keys."""
    items = [(key_of(item), item.type, None) for item, _ in option_fields(cls)]
    return make_dataclass(
        cls.__name__,
        [(name, kind, default) for name, kind, default in items],
        namespace={"__pydantic_config__": {"extra": "forbid"}},
        kw_only=True,
    )


def _problem(
    item: Any,
    location: tuple[Any, ...],
    path: Path,
    lines: Mapping[tuple[Any, ...], int],
    allowed: list[str],
) -> Problem:
    where = ".".join(str(part) for part in location)
    line = lines.get(location)
    place = (
        f"{path.name}:{line}: {where}" if line else f"{path.name}: {where}" if where else path.name
    )
    if item["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return Problem(
            place,
            "unknown key",
            "one of " + ", ".join(sorted(allowed)),
            _meant(location, allowed),
            rule="file-key-unknown",
        )
    expected = item["ctx"]["expected"] if item["type"] == "kind" else item["msg"].lower()
    return Problem(place, _shown(item["input"]), expected, rule="file-value")


def _meant(location: tuple[Any, ...], allowed: list[str]) -> str:
    """The key that an unknown one stands for: a flag's other name, a key of another section, or
    the nearest word."""
    key = str(location[-1])
    flag = f"--{key.replace('_', '-')}"
    named = [key_of(item) for item, _ in option_fields(JobSpec) if flag in item.metadata["flags"]]
    if len(location) > 1 and location[-2] in PROVIDERS:
        return f"`{named[0]}:` stands at the top" if named else did_you_mean(key, allowed)
    if named:
        return f"did you mean {named[0]}?"
    for name in PROVIDERS:
        if key in (key_of(item) for item, _ in option_fields(provider(name).options)):
            return f"`{key}:` stands under `{name}:`"
    return did_you_mean(key, allowed)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _load(path: Path) -> tuple[Any, dict[tuple[Any, ...], int]]:
    """The file's tree, and the line of every key in it."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise LaunchError(
            Problem(
                str(path),
                reason,
                "a YAML file that can be read",
                "name another with -f, or none with --no-file",
                rule="file-unreadable",
            )
        ) from None
    lines: dict[tuple[Any, ...], int] = {}
    problems: list[Problem] = []
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        builder = _Builder(yaml.SafeLoader(""), lines, problems, path)
        tree = builder.build(node, ()) if node is not None else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path.name}:{mark.line + 1}" if mark else path.name
        reason = getattr(error, "problem", None) or str(error)
        raise LaunchError(Problem(place, reason, "valid YAML", rule="file-yaml")) from None
    if problems:
        raise LaunchError(problems)
    return tree, lines


def _is_verbatim(location: tuple[Any, ...]) -> bool:
    """Whether a scalar reaches the script as the file has it, also as a part of a sweep."""
    if location[:1] == (KEY,):
        location = location[3:] if location[1:2] == ("jobs",) else location[2:]
    return bool(location) and str(location[0]).partition(".")[0] in _VERBATIM


class _Builder:
    """Turns YAML nodes into plain values; keeps lines, refuses a key that stands twice."""

    def __init__(
        self,
        constructor: Any,
        lines: dict[tuple[Any, ...], int],
        problems: list[Problem],
        path: Path,
    ):
        self.constructor = constructor
        self.lines = lines
        self.problems = problems
        self.path = path

    def build(self, node: Any, location: tuple[Any, ...]) -> Any:
        if node.id == "mapping":
            return self._mapping(node, location)
        if node.id == "sequence":
            return [self.build(item, (*location, index)) for index, item in enumerate(node.value)]
        if _is_verbatim(location) and not node.tag.endswith(":null"):
            return node.value
        return self.constructor.construct_object(node)

    def _mapping(self, node: Any, location: tuple[Any, ...]) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self.constructor.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, str):
                self.problems.append(
                    Problem(
                        f"{self.path.name}:{line}",
                        repr(key),
                        "a key that is a text",
                        "put it in quotes",
                        rule="file-key-text",
                    )
                )
                continue
            if key in result:
                self.problems.append(
                    Problem(
                        f"{self.path.name}:{line}: {key}",
                        "the same key twice",
                        "each key once",
                        "remove one of the two",
                        rule="file-key-twice",
                    )
                )
            place = (*location, key)
            self.lines[place] = line
            result[key] = self.build(value_node, place)
        return result
