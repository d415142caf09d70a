"""Notices ``hvd.init()`` and ``hvd.shutdown()`` in whichever framework's binding the script uses.

All of them (horovod.tensorflow, .keras, .torch, .mxnet) make an instance of one class,
horovod.common.basics.HorovodBasics. Its ``init`` and ``shutdown`` are replaced the moment that
module is imported.
"""

from __future__ import annotations

import functools
import sys
from importlib.machinery import ModuleSpec
from typing import Any, Callable, Sequence

MODULE = "horovod.common.basics"

# Gets the HorovodBasics instance and the arguments of init, or of shutdown.
Watcher = Callable[[Any, Sequence[Any], "dict[str, Any]"], None]


def install(before: Watcher, after: Watcher, leaving: Watcher | None = None) -> None:
    """From now on ``before`` is called ahead of every ``hvd.init()``, ``after`` behind it, and
    ``leaving`` ahead of every ``hvd.shutdown()``, Horovod's own at the end of the process too."""
    watchers = (before, after, leaving)
    if MODULE in sys.modules:
        _wrap(sys.modules[MODULE].HorovodBasics, *watchers)
    else:
        sys.meta_path.insert(0, _Finder(*watchers))


class _Finder:
    def __init__(self, *watchers: Any):
        self._watchers = watchers

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != MODULE:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            self._wrap_loading(spec.loader)
        return spec

    def _wrap_loading(self, loader: Any) -> None:
        # On the instance: everything else about the loader stays as it is.
        load = loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            _wrap(module.HorovodBasics, *self._watchers)

        loader.exec_module = exec_module


def _wrap(basics: Any, before: Watcher, after: Watcher, leaving: Watcher | None) -> None:
    _wrap_init(basics, before, after)
    if leaving is not None:
        _wrap_shutdown(basics, leaving)


def _wrap_init(basics: Any, before: Watcher, after: Watcher) -> None:
    original = basics.init

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> Any:
        before(self, args, kwargs)
        result = original(self, *args, **kwargs)
        after(self, args, kwargs)
        return result

    basics.init = init


def _wrap_shutdown(basics: Any, leaving: Watcher) -> None:
    original = basics.shutdown

    @functools.wraps(original)
    def shutdown(self: Any, *args: Any, **kwargs: Any) -> Any:
        leaving(self, args, kwargs)
        return original(self, *args, **kwargs)

    basics.shutdown = shutdown
