"""Where the folders that lie beside the package are: in a clone, and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError

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
            str(_PACKAGE),
            f"no folder {name} in the package or beside it",
            "a clone of the repository, or an installed wheel",
            "Install it again: pip install --force-reinstall .",
        )
    )
