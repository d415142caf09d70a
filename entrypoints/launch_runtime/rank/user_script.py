"""The user's script: which one it is, and running it as ``python SCRIPT`` would."""

from __future__ import annotations

import builtins
import json
import os
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Mapping, NamedTuple, Sequence

from launch_runtime import environment as env

OWN_MODULES = (__name__.partition(".")[0], "secret_references")


class UserScript(NamedTuple):
    """A script to run.

    Attributes:
        source: The working folder, absolute.
        name: As it was given, relative to ``source``.
        path: Absolute.
        arguments: Its own.
    """

    source: str
    name: str
    path: str
    arguments: Sequence[str]


def find(arguments: Sequence[str], environment: Mapping[str, str], entrypoints: str) -> UserScript:
    """The script from SageMaker's parameters, else from the command line.

    Args:
        arguments: The guard's own, without its name.
        environment: Of the guard.
        entrypoints: The folder of guard.py.

    Raises:
        environment.SettingError: There is none, or it is not in the source folder.
    """
    # SageMaker hands hyperparameters on as arguments of its own making; ours are not among them.
    chosen = _of_sagemaker(environment.get("SM_FRAMEWORK_PARAMS", "")) or list(arguments)
    if not chosen:
        raise env.SettingError("no script given; usage: guard.py SCRIPT [ARGUMENTS...]")
    source = env.source_folder(environment, entrypoints)
    return UserScript(source, chosen[0], env.script_path(source, chosen[0]), chosen[1:])


def prepare(script: UserScript, entrypoints: str) -> None:
    """Makes this process look as ``python SCRIPT ARGUMENTS`` started in the source folder.

    Working folder, ``sys.argv``, ``sys.path``, and PYTHONPATH for what the script starts; none of
    our modules can be imported any more. Lines are written when they end, as to a terminal.
    """
    os.chdir(script.source)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Also where Python is told to write every bit at once, which would tear lines apart.
            stream.reconfigure(line_buffering=True, write_through=False)
    sys.argv = [script.name, *script.arguments]
    sys.path = [entry for entry in sys.path if not _is(entry, entrypoints)]
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, os.path.dirname(os.path.realpath(script.path)))
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [entry for entry in inherited if entry and not _is(entry, entrypoints)]
    if kept:
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)
    else:
        os.environ.pop("PYTHONPATH", None)
    hide_own_modules()


def execute(script: UserScript) -> None:
    """Runs the script as ``__main__``; what it raises passes through, SystemExit too."""
    # As Python does: the name as given up to 3.8, the absolute path from 3.9 on.
    file = script.name
    if sys.version_info >= (3, 9):
        file = os.path.join(script.source, script.name)
    main = ModuleType("__main__")
    main.__dict__.update(
        __annotations__={},
        __builtins__=builtins,
        __cached__=None,
        __file__=file,
        __loader__=SourceFileLoader("__main__", file),
        __package__=None,
        __spec__=None,
    )
    sys.modules["__main__"] = main
    with open(script.path, "rb") as source:
        text = source.read()
    exec(compile(text, file, "exec", dont_inherit=True), main.__dict__)


def hide_own_modules() -> None:
    """A module of the user's with the name of one of ours is found, and ours are not."""
    for name in list(sys.modules):
        if name.partition(".")[0] in OWN_MODULES:
            del sys.modules[name]


def _is(entry: str, folder: str) -> bool:
    return bool(entry) and os.path.realpath(entry) == os.path.realpath(folder)


def _of_sagemaker(parameters: str) -> list[str]:
    if not parameters:
        return []
    try:
        found = json.loads(parameters)
        script = found.get("sagemaker_launch_script")
        arguments = found.get("sagemaker_launch_args") or []
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
    except (ValueError, AttributeError) as error:
        raise env.SettingError(f"SM_FRAMEWORK_PARAMS: {error}; found {parameters:.200}") from None
    if not script:
        return []
    if not isinstance(arguments, list):
        raise env.SettingError(f"sagemaker_launch_args: found {arguments!r:.200}; expected a list")
    return [str(script), *(str(argument) for argument in arguments)]
