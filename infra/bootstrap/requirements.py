"""The requirement files of the repository: what they pin, and a digest that changes with them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

REQUIREMENTS = "requirements.txt"
DEVELOPMENT = "requirements-dev.txt"
PROJECT = "pyproject.toml"
LOCKS = "requirements/*.lock"


def lines(file: Path) -> Iterator[str]:
    """Requirement lines of ``file`` and of the files that it names by ``-r``, comments left out."""
    for raw in file.read_text("utf-8").splitlines():
        line = re.sub(r"(^|\s)#.*", "", raw).strip()
        if line.startswith("-r"):
            yield from lines(file.parent / line[2:].strip())
        elif line:
            yield line


def name(line: str) -> str:
    """The project that a requirement line asks for, in the index's spelling."""
    found = re.match(r"[A-Za-z0-9._-]+", line)
    return re.sub(r"[-_.]+", "-", found.group()).lower() if found else ""


def pin(file: Path, project: str) -> str:
    """The version that ``file`` pins ``project`` to.

    Raises:
        LookupError: It pins none by ``==``.
    """
    for line in lines(file):
        found = re.fullmatch(r"[^=<>!~;\s]+\s*==\s*([0-9][^\s;,]*)\s*(;.*)?", line)
        if found and name(line) == project:
            return found.group(1)
    raise LookupError(f"{file}: no line `{project}==VERSION`")


def digest(root: Path, file_name: str) -> str:
    """A short digest of everything that an installation from ``file_name`` depends on."""
    listed = "\n".join(lines(root / file_name))
    locked = "".join(file.read_text("utf-8") for file in sorted(root.glob(LOCKS)))
    content = listed + locked + (root / PROJECT).read_text("utf-8")
    return hashlib.sha256(content.encode()).hexdigest()[:16]
