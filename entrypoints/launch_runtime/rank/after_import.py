"""Calls a function once a module has been imported, without importing anything itself."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from typing import Any, Callable, Mapping

Watcher = Callable[[Any], None]  # gets the module


def call(watchers: Mapping[str, Watcher]) -> None:
    """From now on each watcher gets its module right after that was imported; one that is there
    already is handed over at once. A watcher that raises makes the import fail."""
    for name, watcher in watchers.items():
        if name in sys.modules:
            watcher(sys.modules[name])
    sys.meta_path.insert(0, _Finder(watchers))


class _Finder:
    """Finds what the finders behind it find, and wraps the loading of what is watched.

    Other finders of this kind may stand before and behind it, and ask each other.
    """

    def __init__(self, watchers: Mapping[str, Watcher]):
        self._watchers = dict(watchers)
        self._asking: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self._watchers or name in self._asking:
            return None
        self._asking.add(name)
        try:
            spec = find_behind(self, name, path, target)
        finally:
            self._asking.discard(name)
        if spec is not None and spec.loader is not None:
            self._wrap_loading(spec.loader, self._watchers[name])
        return spec

    def _wrap_loading(self, loader: Any, watcher: Watcher) -> None:
        # On the instance: everything else about the loader stays as it is.
        load = loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            watcher(module)

        loader.exec_module = exec_module


def find_behind(finder: Any, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
    """The spec of ``name`` by the finders of ``sys.meta_path`` behind ``finder``."""
    finders = list(sys.meta_path)
    behind = finders[finders.index(finder) + 1 :] if finder in finders else finders
    specs = (other.find_spec(name, path, target) for other in behind if hasattr(other, "find_spec"))
    return next((spec for spec in specs if spec is not None), None)
