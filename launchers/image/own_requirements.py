"""`--requirements FILE` of a build: the user's own packages, over ours or instead of them."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from launchers.core.model.problems import LaunchError
from launchers.core.source.requirements_file import problems_in_requirements
from launchers.image.catalogue import RULES
from launchers.image.recipes import RECIPES

_ADDRESS = re.compile(r"https?://\S+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def own_requirements(path: Path, recipe: str) -> bytes:
    """The file's content, for an image of that recipe.

    Raises:
        LaunchError: The recipe takes none. The file cannot be read, names a file beside it, or has
            a password in an address, which would stay in the build stage's layers.
    """
    if not RECIPES[recipe].pins:
        raise LaunchError(RULES["image-horovod-pins"].at("--requirements", f"--with {recipe}"))
    problems = problems_in_requirements(path)
    if problems:
        raise LaunchError(problems)
    content = path.read_bytes()
    for number, line in enumerate(content.decode().splitlines(), start=1):
        for address in _ADDRESS.findall(line):
            if urlsplit(address).username or urlsplit(address).password:
                found = f"an address at {urlsplit(address).hostname} with a password in it"
                raise LaunchError(RULES["image-index-password"].at(f"{path}:{number}", found))
    return content


def names_package(content: bytes, package: str) -> bool:
    """Whether a line asks for ``package`` itself: then its version is the user's, too."""
    lines = (line.strip() for line in content.decode().splitlines())
    names = (match[0] for line in lines if (match := _NAME.match(line)))
    return any(re.sub(r"[-_.]+", "-", name).lower() == package for name in names)
