"""The folders that lie beside the package, in a clone and in an installed wheel, and those of this
machine that cannot be written."""

from __future__ import annotations

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
    return RULES["folder-unwritable"].at(str(path), reason, expected, fix)


@contextmanager
def writing(path: object, fix: str = "", expected: str | None = None) -> Iterator[None]:
    """Turns an OSError inside into a LaunchError with :func:`unwritable`."""
    try:
        yield
    except OSError as error:
        raise LaunchError(unwritable(path, error, fix, expected)) from None
