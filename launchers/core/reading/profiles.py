"""``profiles:`` of a launch.yaml: sets of keys under a name, of which ``-p NAME`` lays one over the
rest of the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem, did_you_mean
from launchers.core.spec.layers import over

KEY = "profiles"
_NAME = re.compile(r"""(["']?)([^\s"'#:{}\[\],]+)\1\s*:(?:\s|$)""")


def unknown_profile(name: str, said_by: str, file: str, profiles: Mapping[str, Any]) -> Problem:
    """A profile that the file lacks.

    Args:
        said_by: The flag or variable that names it.
        file: Empty where none is read.
    """
    if not file:
        found = f"{name}, and no launch.yaml is read"
        return RULES["profile-unknown"].at(said_by, found, "a launch.yaml with that profile")
    if not profiles:
        return RULES["profile-unknown"].at(said_by, name, f"`{KEY}:` in {file}, which has none")
    expected = f"a profile of {file}: {', '.join(profiles)}"
    return RULES["profile-unknown"].at(said_by, name, expected, did_you_mean(name, profiles))


def laid_over(tree: Mapping[str, Any], profile: Mapping[str, Any]) -> dict[str, Any]:
    """A file's tree with the keys of a profile on top; of what runs, the profile's."""
    result = over(tree, profile)
    for given, other in (("script", "module"), ("module", "script")):
        if given in profile:
            result.pop(other, None)
    return result


def profile_names(file: Path) -> list[str]:
    """The names in ``file``, for completion: read by their indentation, without a YAML parser, and
    without a word where that finds none."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    names, indent, inside = [], None, False
    for line in lines:
        text = line.lstrip()
        if not text or text.startswith("#"):
            continue
        depth = len(line) - len(text)
        if depth == 0:
            inside = text.rstrip().partition("#")[0].strip() == f"{KEY}:"
            continue
        if inside and depth == (indent := indent or depth) and (match := _NAME.match(text)):
            names.append(match[2])
    return names
