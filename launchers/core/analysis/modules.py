"""Which files of a source tree an import reaches."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from launchers.core.analysis.python_imports import Import
from launchers.core.source.texts import SourceTexts

_COMPILED = (".so", ".pyd", ".pyc", ".pyx")


class Found(NamedTuple):
    """What an import reaches.

    Attributes:
        files: Of the tree.
        complete: The whole module is there; what is missing lies outside, or nowhere.
        compiled: Part of it is no Python source.
    """

    files: tuple[str, ...]
    complete: bool
    compiled: bool = False


_NOTHING = Found((), False)


class SourceModules:
    """The modules of a tree.

    Args:
        roots: Folders of the tree that are on the script's ``sys.path``, ``""`` for its top.
    """

    def __init__(self, texts: SourceTexts, roots: Sequence[str]) -> None:
        self._files = texts.paths
        self._roots = tuple(dict.fromkeys(roots))
        self._folders = {""}
        self._compiled = {_module(path) for path in self._files if _is_compiled(path)}
        # A folder without modules is data: the same name may be an installed package.
        for path in self._files:
            if not path.endswith(".py") and not _is_compiled(path):
                continue
            folder = posixpath.dirname(path)
            while folder not in self._folders:
                self._folders.add(folder)
                folder = posixpath.dirname(folder)

    def find(self, wanted: Import, importer: str) -> Found:
        """What ``wanted`` in the file ``importer`` reaches, looked for where Python would."""
        here = posixpath.dirname(importer)
        if wanted.path:
            return self._path(wanted.module, here)
        if wanted.level:
            for _ in range(wanted.level - 1):
                here = posixpath.dirname(here)
            return self._below(here, wanted)
        for root in self._roots:
            found = self._below(root, wanted)
            if found.files or found.complete or found.compiled:
                return found
        return _NOTHING

    def find_anywhere(self, wanted: Import) -> Found:
        """What ``wanted`` may reach where ``sys.path`` is changed: it is looked for in every
        folder."""
        places = self._folders_of.get(wanted.module.partition(".")[0], ())
        found = [self._below(folder, wanted) for folder in places]
        files = tuple(dict.fromkeys(path for one in found for path in one.files))
        return Found(files, any(one.complete for one in found), any(o.compiled for o in found))

    @cached_property
    def _folders_of(self) -> dict[str, list[str]]:
        """The folders that hold a module or a package, sorted, by its name."""
        found: dict[str, set[str]] = {}
        modules = [path.removesuffix(".py") for path in self._files if path.endswith(".py")]
        for place in [*self._folders, *modules]:
            folder, name = posixpath.split(place)
            found.setdefault(name, set()).add(folder)
        return {name: sorted(folders) for name, folders in found.items()}

    def packages_of(self, path: str) -> tuple[str, ...]:
        """The ``__init__.py`` of every package that the file lies in."""
        found = []
        folder = posixpath.dirname(path)
        while _joined(folder, "__init__.py") in self._files:
            found.append(_joined(folder, "__init__.py"))
            if not folder:
                break
            folder = posixpath.dirname(folder)
        return tuple(path_ for path_ in found if path_ != path)

    def _path(self, name: str, here: str) -> Found:
        places = ("", here, *self._roots)
        candidates = [posixpath.normpath(_joined(place, name)) for place in places]
        found = next((path for path in candidates if path in self._files), None)
        return Found((found,), True) if found else _NOTHING

    def _below(self, folder: str, wanted: Import) -> Found:
        files: list[str] = []
        parts = wanted.module.split(".") if wanted.module else []
        package = _joined(folder, "__init__.py")
        if not parts and package in self._files:
            files.append(package)
        for index, part in enumerate(parts):
            path = _joined(folder, part)
            package = _joined(path, "__init__.py")
            if package in self._files:
                files.append(package)
            elif path + ".py" in self._files:
                return Found((*files, path + ".py"), True)
            elif path not in self._folders:
                compiled = path in self._compiled
                return Found(tuple(files), index > 0 and not compiled, compiled)
            folder = path
        compiled = False
        for name in wanted.names:
            path = _joined(folder, name)
            if name == "*":
                files += [
                    one
                    for one in sorted(self._files)
                    if posixpath.dirname(one) == folder and one.endswith(".py")
                ]
            elif path + ".py" in self._files:
                files.append(path + ".py")
            elif _joined(path, "__init__.py") in self._files:
                files.append(_joined(path, "__init__.py"))
            compiled = compiled or path in self._compiled
        return Found(tuple(dict.fromkeys(files)), True, compiled)


def _is_compiled(path: str) -> bool:
    return path.endswith(_COMPILED) and "__pycache__" not in path


def _module(path: str) -> str:
    """``lib/fast`` of ``lib/fast.cpython-311-x86_64-linux-gnu.so``."""
    folder, name = posixpath.split(path)
    return _joined(folder, name.partition(".")[0])


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
