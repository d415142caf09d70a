"""JSON and YAML files as Python values; what is wrong with one is a problem with its line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError


def read_text(file: str, fix: str = "") -> str:
    """The text of ``file``, UTF-8; ``-`` is standard input.

    Raises:
        LaunchError: It cannot be read; ``fix`` says what to do instead.
    """
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        expected = "a file that can be read"
        raise LaunchError(RULES["file-unreadable"].at(file, reason, expected, fix)) from None


@contextmanager
def yaml_errors_of(file: str) -> Iterator[None]:
    """Turns what PyYAML raises inside into a LaunchError with the line in ``file``."""
    import yaml

    try:
        yield
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{file}:{mark.line + 1}" if mark else file
        reason = getattr(error, "problem", None) or str(error)
        raise LaunchError(RULES["file-yaml"].at(place, reason)) from None


def read_json_or_yaml(file: str) -> Any:
    """What ``file`` holds: JSON where it is JSON, else YAML.

    Raises:
        LaunchError: It cannot be read, is neither, or has a JSON object with a key twice.
    """
    text = read_text(file)
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, file))
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("{"):
            raise LaunchError(RULES["file-json"].at(f"{file}:{error.lineno}", error.msg)) from None
    import yaml

    with yaml_errors_of(file):
        return yaml.safe_load(text)


def read_verbatim_mapping(file: str) -> dict[str, Any]:
    """The mapping in a YAML file, every scalar as the text that it is there (``1.10`` stays
    ``1.10``); empty where the file is.

    Raises:
        LaunchError: It cannot be read, is no YAML, or no mapping.
    """
    import yaml

    text = read_text(file)
    with yaml_errors_of(file):
        tree = yaml.load(text, Loader=yaml.BaseLoader)
    return as_mapping({} if tree == "" else tree, file)


def as_mapping(tree: Any, file: str) -> dict[str, Any]:
    """``tree``, where it is a mapping; an empty one for None.

    Raises:
        LaunchError: It is something else.
    """
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        found = type(tree).__name__
        raise LaunchError(RULES["file-shape"].at(file, found, "a mapping of keys"))
    return tree


def _object(pairs: list[tuple[str, Any]], file: str) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key, value in pairs:
        if key in document:
            fix = "JSON readers keep the last one and say nothing"
            place, found = f"{file}: {key}", "the same key twice"
            raise LaunchError(RULES["file-key-twice"].at(place, found, fix=fix))
        document[key] = value
    return document
