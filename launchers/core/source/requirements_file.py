"""The one file of `--requirements`: what it names must be installable without any other file."""

from __future__ import annotations

import re
from pathlib import Path

from launchers.core.bounded import read_text
from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError, Problem

_OTHER_FILE = re.compile(
    r"""
      (?: -r | --requirement | -c | --constraint ) [\s=]* (?!https?://) (?P<file>\S+)
    | (?: -e | --editable ) [\s=]+ (?! [a-z+]+:// | git@ ) (?P<folder>\S+)
    | (?P<path> (?: \.{1,2}/ | / | file: ) \S* )
    | [\w.\[\],-]+ \s* @ \s* (?P<url> file: \S+ )
    """,
    re.VERBOSE,
)


def problems_in_requirements(path: Path) -> list[Problem]:
    """Why ``path`` cannot serve as the job's requirements; empty when it can.

    It travels alone, so a line that names another local file or folder would fail in the job,
    after the machines were started. The forms are those of pip's requirements file format.
    """
    if not path.is_file():
        found = "is not a file" if path.exists() else "does not exist"
        return [RULES["requirements-unreadable"].at("--requirements", f"{path} {found}")]
    try:
        lines = read_text(str(path)).splitlines()
    except LaunchError as error:
        found = f"{path} cannot be read: {error.problems[0].found}"
        return [RULES["requirements-unreadable"].at("--requirements", found)]
    problems = []
    for number, line in enumerate(lines, start=1):
        match = _OTHER_FILE.match(line.strip())
        if match:
            other = next(value for value in match.groupdict().values() if value)
            problems.append(_needs_another_file(path, number, other))
    return problems


def _needs_another_file(path: Path, number: int, other: str) -> Problem:
    return RULES["requirements-local"].at(
        f"{path}:{number}", f"needs the local file or folder {other}, which is not sent with it"
    )
