"""The user's own defaults, for every job: ``defaults.yaml`` in the configuration folder, with the
keys of launch.yaml but for those that make one job."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.paths import at_home

FOLDER_VARIABLE = "LAUNCH_CONFIG_DIR"
FILE = "defaults.yaml"
# Keys that belong to one job, or that nobody may wave through for every job.
OF_A_JOB = frozenset(
    {"script", "module", "args", "source", "requirements", "name", "checkpoint", "allow_values"}
    | {"sweep", "profiles"}
)


def config_folder() -> Path:
    """``LAUNCH_CONFIG_DIR``, else the user's configuration folder; it need not be there."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return at_home(named).absolute()
    from platformdirs import user_config_path

    try:
        return user_config_path("launch", appauthor=False)
    except RuntimeError:  # a user without a home folder
        return at_home("~/.config/launch")


def defaults_file() -> Path | None:
    """The file; None where there is nothing of that name."""
    path = config_folder() / FILE
    # Of a user without a home folder it is not: `~` is then a name in the working folder.
    return path if path.is_absolute() and os.path.lexists(path) else None


def shown(path: Path) -> str:
    """``~/.config/launch/defaults.yaml``."""
    home = at_home("~")
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def problems_in_permissions(path: Path, has_secrets: bool) -> list[Problem]:
    """A warning where others may write the file, or read a secret in it.

    Args:
        has_secrets: A webhook's address stands there.
    """
    if os.name == "nt":
        return []  # where modes say nothing of who may
    mode = path.stat().st_mode
    if mode & stat.S_IWOTH:
        found = "everybody may write it"
    elif has_secrets and mode & (stat.S_IRGRP | stat.S_IROTH):
        found = "others may read it, and a webhook's address in it is a secret"
    else:
        return []
    fix = f"chmod 600 {shown(path)}"
    return [RULES["defaults-permissions"].at(shown(path), found, fix=fix)]
