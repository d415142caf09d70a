"""The user's script: which one it is, and running it as ``python SCRIPT`` or ``python -m MODULE``
would."""

from __future__ import annotations

import builtins
import importlib.util
import json
import os
import sys
import warnings
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, Mapping, NamedTuple, Sequence

from launch_runtime import environment as env
from launch_runtime import program

OWN_MODULES = (__name__.partition(".")[0], "secret_references")


class UserScript(NamedTuple):
    """A script to run.

    Attributes:
        source: The working folder, absolute.
        name: As it was given: relative to ``source``, or a module's name.
        path: Absolute.
        arguments: Its own.
        is_module: Whether ``name`` is a module's.
    """

    source: str
    name: str
    path: str
    arguments: Sequence[str]
    is_module: bool = False


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
        raise env.SettingError("no script given; usage: guard.py SCRIPT|-m MODULE [ARGUMENTS...]")
    source = env.source_folder(environment, entrypoints)
    found = program.find(source, chosen)
    return UserScript(source, found.name, found.path, found.arguments, found.is_module)


def prepare(script: UserScript, entrypoints: str) -> None:
    """Makes this process look as ``python SCRIPT ARGUMENTS`` started in the source folder, or as
    ``python -m MODULE ARGUMENTS``.

    Working folder, ``sys.argv``, ``sys.path``, and PYTHONPATH for what the script starts; none of
    our modules can be imported any more. Lines are written when they end, as to a terminal.
    """
    os.chdir(script.source)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Also where Python is told to write every bit at once, which would tear lines apart.
            stream.reconfigure(line_buffering=True, write_through=False)
    # Until a module is found its place is not known, and its packages see what Python shows them.
    sys.argv = [program.MODULE_FLAG if script.is_module else script.name, *script.arguments]
    sys.path = [entry for entry in sys.path if not _is(entry, entrypoints)]
    if not getattr(sys.flags, "safe_path", False):
        own = os.path.dirname(os.path.realpath(script.path))
        sys.path.insert(0, os.getcwd() if script.is_module else own)
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [entry for entry in inherited if entry and not _is(entry, entrypoints)]
    if kept:
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)
    else:
        os.environ.pop("PYTHONPATH", None)
    hide_own_modules()


def execute(script: UserScript) -> None:
    """Runs the script as ``__main__``; what it raises passes through, SystemExit too."""
    main = ModuleType("__main__")
    main.__dict__.update(__annotations__={}, __builtins__=builtins)
    sys.modules["__main__"] = main
    code, names = _module_code(script.name) if script.is_module else _script_code(script)
    if script.is_module:
        sys.argv[0] = names["__file__"]
    main.__dict__.update(names)
    exec(code, main.__dict__)


def _script_code(script: UserScript) -> tuple[CodeType, dict[str, Any]]:
    """The script's code, and what Python defines in ``__main__`` for it."""
    # As Python does: the name as given up to 3.8, the absolute path from 3.9 on.
    file = script.name
    if sys.version_info >= (3, 9):
        file = os.path.join(script.source, script.name)
    with open(script.path, "rb") as source:
        text = source.read()
    names = {
        "__cached__": None,
        "__file__": file,
        "__loader__": SourceFileLoader("__main__", file),
        "__package__": None,
        "__spec__": None,
    }
    return compile(text, file, "exec", dont_inherit=True), names


def _module_code(name: str) -> tuple[CodeType, dict[str, Any]]:
    """The same for a module, as ``python -m`` has it (PEP 338, PEP 366): ``__spec__`` says where
    it belongs, which relative imports and the children of multiprocessing go by."""
    spec = _found(name)
    try:
        # Packages are gone through to their __main__, so there is a loader with code.
        code = spec.loader.get_code(spec.name)  # type: ignore[union-attr]
    except SyntaxError as error:
        raise error.with_traceback(None) from None  # the loader's frames say nothing to the user
    names = {
        "__cached__": spec.cached,
        "__file__": spec.origin,
        "__loader__": spec.loader,
        "__package__": spec.parent,
        "__spec__": spec,
    }
    return code, names


def _found(name: str) -> ModuleSpec:
    """The module ``name``, or the ``__main__`` of the package ``name``.

    Its packages are imported, and what they raise passes through.
    """
    package = name.rpartition(".")[0]
    if package:
        __import__(package)
        before = sys.modules.get(name)
        if before is not None and not hasattr(before, "__path__"):
            warnings.warn(
                f"{name!r} is imported by its package {package!r} already, and now runs once more "
                "as __main__: there are two of everything that it defines",
                RuntimeWarning,
                stacklevel=1,
            )
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    if spec.submodule_search_locations is not None:
        return _found(f"{name}.__main__")
    return spec


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
        module = found.get("sagemaker_launch_module")
        arguments = found.get("sagemaker_launch_args") or []
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
    except (ValueError, AttributeError) as error:
        raise env.SettingError(f"SM_FRAMEWORK_PARAMS: {error}; found {parameters:.200}") from None
    if not script and not module:
        return []
    if not isinstance(arguments, list):
        raise env.SettingError(f"sagemaker_launch_args: found {arguments!r:.200}; expected a list")
    start = [program.MODULE_FLAG, str(module)] if module else [str(script)]
    return [*start, *(str(argument) for argument in arguments)]
