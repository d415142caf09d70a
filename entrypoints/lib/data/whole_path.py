"""Refuses a place that means a folder of the user's and leads elsewhere from where a rank works."""

from __future__ import annotations

import os
from typing import Mapping

from ..errors import TrainingError


def check(path: str, flag: str, environment: Mapping[str, str]) -> None:
    """Nothing where ``path`` is whole, an address, or there as it is.

    Args:
        path: As it was given.
        flag: What stands before it on the command line: ``--data parquet:``.
        environment: Of this process; PWD is the shell's folder, in which the command was given.

    Raises:
        TrainingError: It is relative, or begins with ``~``, and there is nothing; the message has
            the whole path where that can be seen from here.
    """
    if "://" in path or os.path.isabs(path) or os.path.exists(path):
        return
    if path.startswith("~"):
        meant = os.path.expanduser(path)
        why = "no shell replaces a ~ that does not begin a word"
    else:
        meant = os.path.normpath(os.path.join(environment.get("PWD", ""), path))
        why = f"is relative, and not in the folder in which this rank works ({os.getcwd()})"
    given = f"{flag}{path}"
    if os.path.isabs(meant) and os.path.exists(meant):
        raise TrainingError(f"{given}: {why}. Give the absolute path: {flag}{meant}")
    example = os.path.join("/home/me", os.path.basename(os.path.normpath(path)))
    raise TrainingError(f"{given}: {why}. Give the absolute path, such as {flag}{example}")
