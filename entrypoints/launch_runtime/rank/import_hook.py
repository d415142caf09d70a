"""Calls a function the moment that a module has been imported, and imports nothing itself."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from typing import Any, Callable, Mapping

OnImport = Callable[[Any], None]  # gets the module, which has just been executed


def when_imported(table: Mapping[str, OnImport]) -> None:
    """From now on each function of ``table`` is called with the module of that name, once it is
    there; at once for those that are there already."""
    waiting = {}
    for name, function in table.items():
        if name in sys.modules:
            function(sys.modules[name])
        else:
            waiting[name] = function
    if waiting:
        sys.meta_path.insert(0, _Finder(waiting))


class _Finder:
    """Asks the finders behind it. Several of this kind may wait for one module and ask each other,
    also by way of finders that ask all; each is asked once."""

    def __init__(self, table: Mapping[str, OnImport]):
        self._table = table
        self._asking: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        function = self._table.get(name)
        if function is None or name in self._asking:
            return None
        self._asking.add(name)
        try:
            spec = find_behind(self, name, path, target)
        finally:
            self._asking.discard(name)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            _call_after(spec.loader, function)
        return spec


def find_behind(finder: Any, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
    """The spec of ``name`` by the finders that stand behind ``finder`` in ``sys.meta_path``."""
    finders = list(sys.meta_path)
    behind = finders[finders.index(finder) + 1 :] if finder in finders else finders
    specs = (other.find_spec(name, path, target) for other in behind if hasattr(other, "find_spec"))
    return next((spec for spec in specs if spec is not None), None)


def _call_after(loader: Any, function: OnImport) -> None:
    # On the instance: everything else about the loader stays as it is.
    load = loader.exec_module

    def exec_module(module: Any) -> None:
        load(module)
        function(module)

    loader.exec_module = exec_module
