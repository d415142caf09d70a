"""What a rank runs: a script, or a module as ``python -m`` takes one."""

from __future__ import annotations

import os
from typing import NamedTuple, Sequence

from launch_runtime import environment as env

MODULE_FLAG = "-m"


class Program(NamedTuple):
    """What the job definition names, found in the source folder.

    Attributes:
        name: As it was given: a path relative to the source folder, or a module's name.
        path: The absolute path of the file that runs.
        is_module: Whether ``name`` is a module's.
        arguments: What follows.
    """

    name: str
    path: str
    is_module: bool
    arguments: Sequence[str]


def find(source: str, words: Sequence[str]) -> Program:
    """The program that ``SCRIPT [ARGUMENTS...]`` or ``-m MODULE [ARGUMENTS...]`` name.

    Args:
        source: The working folder, absolute.
        words: At least one.

    Raises:
        environment.SettingError: It is not in ``source``.
    """
    if words[0] != MODULE_FLAG:
        return Program(words[0], env.script_path(source, words[0]), False, words[1:])
    if len(words) < 2:
        raise env.SettingError("no module given behind -m")
    return Program(words[1], module_path(source, words[1]), True, words[2:])


def module_path(source: str, module: str) -> str:
    """The file that ``python -m MODULE`` started in ``source`` would run: the module's own, or a
    package's ``__main__``. Packages without ``__init__.py`` count.

    Raises:
        environment.SettingError: There is none.
    """
    parts = module.split(".")
    if not all(parts) or os.sep in module:
        raise env.SettingError(
            f"module {module}: expected a name such as pkg.train, as `python -m` takes it"
        )
    place = os.path.join(source, *parts)
    package = os.path.join(place, "__main__.py")
    is_package = os.path.isfile(os.path.join(place, "__init__.py"))
    if not is_package and os.path.isfile(place + ".py"):
        return place + ".py"
    if os.path.isfile(package):
        return package
    found = "a package without __main__.py" if is_package else "no such module"
    raise env.SettingError(f"module {module}: {found} in {source}")
