"""A JobSpec from values by their keys in launch.yaml: a file's, or a notebook's arguments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field
from numbers import Integral, Real
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError, Problem, did_you_mean
from launchers.core.provider import Provider
from launchers.core.reading.wrong_values import parts_of, shown
from launchers.core.spec.job import JobSpec
from launchers.core.spec.option import default_of, key_of, option_fields
from launchers.core.spec.value_types import Text, ValueType

# Keys whose values reach the script as they were written.
VERBATIM = ("args", "env")
Items = Iterable[tuple[Field[Any], ValueType]]


def fields_of(
    values: Mapping[str, Any],
    items: Items,
    unknown: Callable[[str], Problem],
    place: Callable[..., str],
    problems: list[Problem],
) -> dict[str, Any]:
    """The fields that ``values`` give, by field name; None only where a field can be None.

    Args:
        items: The fields that may be given, of :func:`launchers.core.spec.option.option_fields`.
        unknown: What is wrong at a key that nobody knows.
        place: Where a key stands, or a part of its value, whose own keys come after it.
        problems: Each mistake is added here.
    """
    known = {key_of(item): (item, value_type) for item, value_type in items}
    fields = {}
    for key, value in values.items():
        if key not in known:
            problems.append(unknown(key))
            continue
        item, value_type = known[key]
        try:
            absent = value is None and default_of(item) is None
            fields[item.name] = None if absent else value_type.parse(value)
        except ValueError as error:
            # YAML makes a number of 12345, and false of no.
            text = isinstance(value_type, Text) and isinstance(value, bool | int | float)
            problems += [
                RULES["file-value"].at(
                    place(key, *keys),
                    shown(found, key),
                    expected,
                    "put it in quotes" if text else "",
                )
                for keys, found, expected in parts_of(error, value, value_type)
            ]
    return fields


def key_named(key: str, items: Items) -> str:
    """The key of the field or flag that is called ``key``, or an empty string."""
    flag = f"--{key.replace('_', '-')}"
    named = [key_of(i) for i, _ in items if key == i.name or flag in i.metadata["flags"]]
    return named[0] if named else ""


def job_from_values(provider: Provider, values: Mapping[str, Any]) -> JobSpec:
    """The job that ``values`` describe; no file is read, and nothing is looked up.

    Args:
        values: By their key in launch.yaml, the provider's own keys beside the common ones. None
            stands for a key that is not given.

    Raises:
        LaunchError: With every unknown key and every value that is not of its key's type.
    """
    own = option_fields(provider.definer.options)
    # Nobody here waits for the job's end.
    items = [*option_fields(JobSpec, provider.definer.unused | {"notify"}), *own]
    keys = sorted(key_of(item) for item, _ in items)

    def unknown(key: str) -> Problem:
        named = key_named(key, items)
        fix = f"did you mean {named}?" if named else did_you_mean(key, keys)
        return RULES["file-key-unknown"].at(key, "unknown key", f"one of {', '.join(keys)}", fix)

    def place(*keys: str | int) -> str:
        return ".".join(map(str, keys))

    problems = [
        RULES["file-text"].at(key, "a NUL character")
        for key, value in values.items()
        if any("\0" in text for text in _texts(value))
    ]
    given = {
        key: _plain(key, value)
        for key, value in values.items()
        if value is not None or key not in keys
    }
    fields = fields_of(given, items, unknown, place, problems)
    if problems:
        raise LaunchError(problems)
    names = {item.name for item, _ in own}
    options = provider.definer.options(**{name: fields.pop(name) for name in names & fields.keys()})
    return JobSpec(provider=provider.name, options=options, **fields)


def _texts(value: Any) -> Iterator[str]:
    """The texts in ``value``, keys too."""
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def _plain(key: str, value: Any) -> Any:
    """``value`` in the types that a YAML file has; numbers as Python prints them."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if not isinstance(value, bool) and isinstance(value, Integral):
        value = int(value)  # NumPy's too
    if key not in VERBATIM:
        return value
    if isinstance(value, Mapping):
        return {name: _plain(key, item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(key, item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(float(value))  # a subclass, such as NumPy's, prints its type as well
    return str(value) if isinstance(value, Real) else value
