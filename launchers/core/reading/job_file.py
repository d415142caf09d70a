"""launch.yaml: read, checked as a whole, and its JSON schema.

The dataclasses that the flags come from say what each key may be. Scalars under ``args`` and
``env`` keep the text that the file has (``1.10`` stays ``1.10``): they reach the script verbatim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launchers.core.bounded import read_text
from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError, Problem, did_you_mean
from launchers.core.reading.job_values import VERBATIM, fields_of, key_named
from launchers.core.reading.profiles import KEY as PROFILES
from launchers.core.reading.profiles import laid_over, unknown_profile
from launchers.core.reading.sweep import KEY, expand
from launchers.core.reading.text_file import as_mapping
from launchers.core.reading.user_defaults import OF_A_JOB, shown
from launchers.core.reading.wrong_values import shown as shown_value
from launchers.core.reading.yaml_nodes import compose
from launchers.core.reading.yaml_values import YamlValues
from launchers.core.registry import PROVIDERS, provider
from launchers.core.spec.job import JobSpec, ProviderOptions
from launchers.core.spec.layers import DEFAULT_FILE
from launchers.core.spec.option import key_of, option_fields
from launchers.core.spec.request_type import RequestFields


@dataclass(frozen=True)
class JobFile:
    """What a file says: fields by their name, a provider's own under its name, and only those
    that the file has (``{"instances": 2, "sagemaker": {"role": ...}}``).

    Attributes:
        jobs: Those of each job; one where the file has no sweep.
        plain: Those of the file itself, without profile and sweep.
        profile: Those of the profile alone.
        is_sweep: Whether the file has one.
    """

    jobs: list[dict[str, Any]]
    plain: dict[str, Any]
    profile: dict[str, Any]
    is_sweep: bool = False


def read(path: Path) -> dict[str, Any]:
    """The fields that a file with one job gives; a sweep's jobs stand under ``sweep``, each such a
    mapping of its own. Raises as :func:`read_file` does."""
    found = read_file(path)
    return {KEY: found.jobs} if found.is_sweep else found.jobs[0]


def read_file(path: Path, profile: str = "", said_by: str = "--profile") -> JobFile:
    """A launch.yaml, with one of its profiles on top.

    Args:
        profile: Its name, or nothing.
        said_by: What names it, the flag or the variable.

    Raises:
        LaunchError: With every problem in the file, each with its line; also of those profiles
            that nobody asks for.
    """
    tree, lines = _load(path)
    tree = as_mapping(tree, str(path))
    problems: list[Problem] = []
    reader = _Reader(path.name, lines, problems)
    profiles = reader.profiles(tree.pop(PROFILES, None))
    if profile and profile not in profiles:
        problems.append(unknown_profile(profile, said_by, str(path), profiles))
    if problems:
        reader.fields({key: value for key, value in tree.items() if key != KEY})
    reader.stop()
    has_sweep, sweep = KEY in tree, tree.pop(KEY, None)
    chosen = profiles.get(profile, {}) if profile else {}
    plain = reader.fields(tree)
    tree = laid_over(tree, chosen) if chosen else tree
    trees = [tree]
    if has_sweep:
        line = lines.get((KEY,))
        place = f"{path.name}:{line}: {KEY}" if line else KEY
        trees, found = expand(tree, sweep, place)
        problems += found
    jobs = [reader.fields(one) for one in trees] if chosen or has_sweep else [plain]
    reader.stop()
    return JobFile(jobs, plain, reader.fields(chosen), has_sweep)


def read_defaults(path: Path) -> dict[str, Any]:
    """The fields that the user's defaults give.

    Raises:
        LaunchError: With every problem in the file, each with its line.
    """
    file = shown(path)
    tree, lines = _load(path, file, "mend it, or leave it out with --no-defaults")
    tree = as_mapping(tree, file)
    problems: list[Problem] = []
    reader = _Reader(file, lines, problems)
    for key in sorted(OF_A_JOB & tree.keys()):
        problems.append(RULES["defaults-key"].at(reader.place((key,)), "a key of one job"))
        del tree[key]
    found = reader.fields(tree)
    reader.stop()
    return found


@dataclass(frozen=True)
class _Reader:
    """Reads the trees of one file; what is wrong goes to ``problems``.

    Attributes:
        file: As problems name it.
        lines: Of each key in the file.
    """

    file: str
    lines: Mapping[tuple[Any, ...], int]
    problems: list[Problem]

    def fields(self, tree: Mapping[str, Any], prefix: tuple[str, ...] = ()) -> dict[str, Any]:
        """The fields of one job, or of a profile at ``prefix``."""
        sections = {name: tree[name] for name in tree if name in PROVIDERS}
        common = {name: value for name, value in tree.items() if name not in sections}
        result = _Section(self, prefix, JobSpec).fields(common, self.problems)
        for name, values in sections.items():
            section = _Section(self, (*prefix, name), provider(name).definer.options)
            result[name] = section.fields({} if values is None else values, self.problems)
        return result

    def profiles(self, tree: Any) -> dict[str, dict[str, Any]]:
        """The trees of all profiles, whose keys are looked at."""
        if tree is None:
            return {}
        named = tree if isinstance(tree, dict) else {"": tree}
        expected = "a mapping of names to mappings of keys"
        for name, keys in named.items():
            location = (PROFILES, name) if name else (PROFILES,)
            if isinstance(keys, dict):
                self.fields(keys, location)
            elif keys is not None or not name:
                place = self.place(location)
                self.problems.append(RULES["file-value"].at(place, shown_value(keys), expected))
        return {name: keys or {} for name, keys in named.items()}

    def place(self, location: tuple[Any, ...]) -> str:
        """``launch.yaml:3: sagemaker.role``; the line of what holds it where it has none itself."""
        ways = (location[:length] for length in range(len(location), 0, -1))
        line = next((self.lines[way] for way in ways if way in self.lines), None)
        where = ".".join(map(str, location))
        return f"{self.file}:{line}: {where}" if line else f"{self.file}: {where}"

    def stop(self) -> None:
        """Raises a LaunchError where something is wrong; jobs of a sweep share their mistakes."""
        if self.problems:
            raise LaunchError(dict.fromkeys(self.problems))


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
    result["properties"][PROFILES] = {
        "type": "object",
        "description": "Sets of keys under a name; `-p NAME` lays one over the rest of the file.",
        "additionalProperties": {
            "type": ["object", "null"],
            "properties": {
                key: {"$ref": f"#/properties/{key}"} for key in result["properties"] if key != KEY
            },
            "additionalProperties": False,
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": DEFAULT_FILE,
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
    """

    reader: _Reader
    prefix: tuple[str, ...]
    cls: type[JobSpec] | type[ProviderOptions]

    def fields(self, values: Any, problems: list[Problem]) -> dict[str, Any]:
        """The fields that the section gives, by field name."""
        if not isinstance(values, dict):
            place, expected = self.reader.place(self.prefix), "a mapping of keys"
            problems.append(RULES["file-value"].at(place, shown_value(values), expected))
            return {}

        items = option_fields(self.cls)
        return fields_of(values, items, self._unknown, self._place, problems)

    def _place(self, *keys: Any) -> str:
        return self.reader.place((*self.prefix, *keys))

    def _unknown(self, key: str) -> Problem:
        keys = [key_of(item) for item, _ in option_fields(self.cls)]
        at_top = self.cls is JobSpec
        if at_top:
            keys += PROVIDERS if self.prefix else (*PROVIDERS, KEY, PROFILES)
        named = key_named(key, option_fields(JobSpec))
        if named:
            fix = f"did you mean {named}?" if at_top else f"`{named}:` belongs at the top"
        else:
            owners = [name for name in PROVIDERS if key in _own_keys(name)] if at_top else ()
            fix = f"`{key}:` belongs under `{owners[0]}:`" if owners else did_you_mean(key, keys)
            fix = self._request_hint(key) or fix
        expected = "one of " + ", ".join(sorted(keys))
        return RULES["file-key-unknown"].at(self._place(key), "unknown key", expected, fix)

    def _request_hint(self, key: str) -> str:
        """For a field of the service's own request that stands beside the flags' keys."""
        blocks = [kind for item, kind in option_fields(self.cls) if isinstance(kind, RequestFields)]
        known = [key in kind.json_schema["properties"] for kind in blocks]
        return f"`{key}:` belongs under `request:`" if any(known) else ""


def _own_keys(name: str) -> list[str]:
    return [key_of(item) for item, _ in option_fields(provider(name).definer.options)]


def _load(
    path: Path, file: str = "", fix: str = "name another with -f, or none with --no-file"
) -> tuple[Any, dict[tuple[Any, ...], int]]:
    """The file's tree, and the line of every key in it."""
    text = read_text(str(path), fix)
    values = YamlValues(
        file or path.name, text_keys=True, verbatim=_is_verbatim, octal_digits=False
    )
    return values.of(compose(text, file or path.name)), values.lines


def _is_verbatim(location: tuple[Any, ...]) -> bool:
    """Whether a scalar reaches the script as the file has it, also as a part of a sweep or of a
    profile."""
    if location[:1] == (KEY,):
        location = location[3:] if location[1:2] == ("jobs",) else location[2:]
    elif location[:1] == (PROFILES,):
        location = location[2:]
    return bool(location) and str(location[0]).partition(".")[0] in VERBATIM
