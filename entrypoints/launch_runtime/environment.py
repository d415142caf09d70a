"""Numbers and paths from the environment of the job definition, with errors a person can use."""

from __future__ import annotations

import os
from typing import Mapping, Sequence


class SettingError(Exception):
    """A variable is missing or is not what it has to be; the text says which, and the fix."""


def number(environment: Mapping[str, str], name: str, default: int | None = None) -> int:
    """A whole number of at least 1.

    Raises:
        SettingError: It is missing and has no default, or is something else.
    """
    text = environment.get(name, "")
    if not text and default is not None:
        return default
    if not text:
        raise SettingError(
            f"{name} is not set; expected a whole number, which the job definition carries"
        )
    if not text.strip().isdigit() or int(text) < 1:
        raise SettingError(f"{name}: found {text!r}; expected a whole number from 1")
    return int(text)


def seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    """A time in seconds, above 0.

    Raises:
        SettingError: It is something else.
    """
    text = environment.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise SettingError(f"{name}: found {text!r}; expected seconds above 0")
    return value


def choice(environment: Mapping[str, str], name: str, choices: Sequence[str], default: str) -> str:
    """One of ``choices``.

    Raises:
        SettingError: It is something else.
    """
    text = environment.get(name) or default
    if text not in choices:
        expected = ", ".join(choices[:-1]) + " or " + choices[-1]
        raise SettingError(f"{name}: found {text!r}; expected {expected}")
    return text


def source_folder(environment: Mapping[str, str], entrypoints: str) -> str:
    """The absolute folder that the script lies in: LAUNCH_SOURCE_DIR, else ``src`` beside us.

    Args:
        environment: Of the agent or the guard.
        entrypoints: The folder of agent.py and guard.py.

    Raises:
        SettingError: It is no folder.
    """
    named = environment.get("LAUNCH_SOURCE_DIR")
    folder = os.path.abspath(named or os.path.join(entrypoints, "src"))
    if not os.path.isdir(folder):
        where = "LAUNCH_SOURCE_DIR" if named else "the source folder beside agent.py and guard.py"
        raise SettingError(f"{where}: {folder} is not a folder")
    return folder


def script_path(source: str, script: str) -> str:
    """The absolute path of ``script`` in the folder ``source``.

    Raises:
        SettingError: It is not there, is no file, or lies outside of ``source``.
    """
    path = os.path.normpath(os.path.join(source, script))
    if not path.startswith(os.path.join(source, "")):
        raise SettingError(
            f"script {script}: it lies outside of the source folder {source}; expected a path "
            "inside it"
        )
    if not os.path.isfile(path):
        found = "a folder" if os.path.isdir(path) else "no such file"
        raise SettingError(
            f"script {script}: {found} in {source}; give its path relative to that folder"
        )
    return path
