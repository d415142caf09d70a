"""The folders that lie beside the package, in a clone and in an installed wheel, and those of this
machine that cannot be written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError, Problem

_PACKAGE = Path(__file__).resolve().parent.parent


def entrypoints_folder() -> Path:
    """The folder of agent.py, guard.py and the shared training scripts.

    Raises:
        LaunchError: The installation lacks it.
    """
    return _shipped("entrypoints")


def images_folder() -> Path:
    """The folder of the training image: its Dockerfile and what the Dockerfile copies.

    Raises:
        LaunchError: The installation lacks it.
    """
    return _shipped("infra/images")


def templates_folder() -> Path:
    """The folder of the job definitions' templates, one folder a provider in it.

    Raises:
        LaunchError: The installation lacks it.
    """
    return _shipped("templates")


def working_folder() -> Path:
    """The folder from which relative paths start.

    Raises:
        LaunchError: It was deleted after the shell had gone there.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise LaunchError(_no_working_folder()) from None


def _no_working_folder() -> Problem:
    import shlex

    # The shell's own word for it; another one of that name may be there by now.
    was = Path(os.environ.get("PWD", ""))
    ways = [was, *was.parents] if was.is_absolute() else []
    there = next((folder for folder in ways if folder.is_dir()), at_home("~"))
    fix = f"go to one that exists: cd {shlex.quote(str(there))}"
    return RULES["working-folder"].at("the working folder", "deleted since you went there", fix=fix)


def at_home(path: str) -> Path:
    """``path``, a ``~`` at its beginning replaced by the home folder. Where nobody knows that one
    (:meth:`Path.expanduser` raises RuntimeError there) it is a name like others.

    Example:
        >>> str(at_home("~no-such-user/train.py"))
        '~no-such-user/train.py'
    """
    return Path(os.path.expanduser(path))


def shortest(path: Path) -> str:
    """``path``, an absolute one, as it is typed here: relative where it is below."""
    here = working_folder()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def is_elsewhere(place: str) -> bool:
    """Whether a place is a URL, such as ``s3://`` or ``hdfs://``, and no folder of this machine."""
    return "://" in place


def straight(path: Path) -> Path:
    """``path`` from the root and without ``..``, so that one place has one name. Links stay as they
    are, but for one that a ``..`` stands behind: from there the system goes on at its target.

    Example:
        >>> str(straight(Path("/nowhere/sub/../train.py")))
        '/nowhere/train.py'
    """
    place = Path(path.absolute().anchor)
    for part in path.absolute().parts[1:]:
        if part == os.pardir:
            place = (Path(os.path.realpath(place)) if place.is_symlink() else place).parent
        else:
            place /= part
    return place


def _shipped(name: str) -> Path:
    """A wheel carries the folder inside the package (hatch_build.py), a clone has it beside it."""
    for folder in (_PACKAGE / "_shipped" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise LaunchError(
        RULES["installation-incomplete"].at(
            str(_PACKAGE), f"no folder {name} in the package or beside it"
        )
    )


def unwritable(path: object, error: OSError, fix: str = "", expected: str | None = None) -> Problem:
    """A file or folder of this machine that cannot be written, in the system's words."""
    reason = error.strerror or str(error)
    if isinstance(error, FileExistsError):
        place = error.filename or str(path)
        if os.path.islink(place) and not os.path.exists(place):
            reason = f"a link to {os.readlink(place)}, which is not there"
    return RULES["folder-unwritable"].at(str(path), reason, expected, fix)


@contextmanager
def writing(path: object, fix: str = "", expected: str | None = None) -> Iterator[None]:
    """Turns an OSError inside into a LaunchError with :func:`unwritable`."""
    try:
        yield
    except OSError as error:
        raise LaunchError(unwritable(path, error, fix, expected)) from None
