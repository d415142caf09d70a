"""Finds in a source folder what ``python -m MODULE`` started there would run. Reads names alone."""

from __future__ import annotations

import os
from pathlib import Path

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem, did_you_mean
from launchers.core.paths import at_home

_EXPECTED = "a module in the source, as `python -m` takes it"


def find_module(folder: Path, module: str, verb: str) -> tuple[str, Problem | None]:
    """The file of ``module``, relative to ``folder`` with forward slashes, or why there is none.

    A package stands for its ``__main__``; a folder without ``__init__.py`` is a package, too.

    Args:
        folder: The source, absolute.
        verb: What follows ``launch`` in the line that is meant.
    """
    file = module_file(folder, module)
    if file:
        return file, None
    if module.endswith(".py") or "/" in module or os.sep in module:
        problem = _is_path(folder, module, verb)
    elif not all(module.split(".")):
        name = ".".join(part for part in module.split(".") if part)
        problem = _problem(
            f"{module or 'nothing'} (not a module's whole name)",
            f"name it from the source folder: -m {name}" if name else "",
        )
    elif (folder / Path(*module.split("."))).is_dir():
        inside = _modules(folder / Path(*module.split(".")))
        named = ", ".join(f"-m {module}.{name}" for name in inside[:3])
        problem = _problem(
            f"{module} (a package without __main__.py)",
            f"name a module in it: {named}" if named else "",
        )
    else:
        problem = _problem(f"{module} (no such module in {folder})", _where(folder, module))
    return module.replace(".", "/") + ".py", problem


def module_file(folder: Path, module: str) -> str:
    """The file that runs, relative to ``folder``; empty where there is none."""
    parts = module.split(".")
    if not all(parts) or "/" in module or os.sep in module:
        return ""
    place = folder.joinpath(*parts)
    is_package = (place / "__init__.py").is_file()
    if not is_package and place.with_name(f"{place.name}.py").is_file():
        return "/".join(parts) + ".py"
    return "/".join([*parts, "__main__.py"]) if (place / "__main__.py").is_file() else ""


def _is_path(folder: Path, path: str, verb: str) -> Problem:
    """The module that a path means, where it lies in the source, and the line for a script."""
    script = f"as a script: launch {verb} {path}"
    inside = os.path.relpath(folder / at_home(path), folder)
    name = inside.removesuffix(".py").replace(os.sep, ".").removesuffix(".__init__")
    if not module_file(folder, name):
        return _problem(f"{path} (a path)", script)
    return _problem(f"{path} (a path)", f"write -m {name}; or, {script}")


def _where(folder: Path, module: str) -> str:
    """The folder beside or around this one that has the module, or the nearest name."""
    for other in (folder.parent, folder / "src"):
        if module_file(other, module):
            return f"it is found with --source {os.path.relpath(other)}"
    package, _, _ = module.rpartition(".")
    prefix = f"{package}." if package else ""
    names = [prefix + name for name in _modules(folder / Path(*package.split(".")))]
    return did_you_mean(module, names) or "--source DIR names the folder that its name starts from"


def _modules(folder: Path) -> list[str]:
    """What `-m` could run directly in ``folder``."""
    if not folder.is_dir():
        return []
    found = {path.stem for path in folder.glob("*.py") if not path.name.startswith("__")}
    found |= {path.parent.name for path in folder.glob("*/__main__.py")}
    return sorted(found)


def _problem(found: str, fix: str) -> Problem:
    return RULES["module-missing"].at("-m", found, _EXPECTED, fix)
