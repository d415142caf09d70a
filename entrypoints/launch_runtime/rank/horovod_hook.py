"""Notices ``hvd.init()`` in whichever framework's binding the script uses.

All of them (horovod.tensorflow, .keras, .torch, .mxnet) make an instance of one class,
horovod.common.basics.HorovodBasics. Its ``init`` is replaced the moment that module is imported.
"""

from __future__ import annotations

import functools
import sys
from importlib.machinery import ModuleSpec
from typing import Any, Callable, Sequence

MODULE = "horovod.common.basics"

# Gets the HorovodBasics instance and the arguments of init.
Watcher = Callable[[Any, Sequence[Any], "dict[str, Any]"], None]


def install(before: Watcher, after: Watcher) -> None:
    """From now on ``before`` is called ahead of every ``hvd.init()`` and ``after`` behind it."""
    if MODULE in sys.modules:
        _wrap_init(sys.modules[MODULE].HorovodBasics, before, after)
    else:
        sys.meta_path.insert(0, _Finder(before, after))


class _Finder:
    def __init__(self, before: Watcher, after: Watcher):
        self._before, self._after = before, after

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
            _wrap_init(module.HorovodBasics, self._before, self._after)

        loader.exec_module = exec_module


def _wrap_init(basics: Any, before: Watcher, after: Watcher) -> None:
    original = basics.init

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> Any:
        before(self, args, kwargs)
        result = original(self, *args, **kwargs)
        after(self, args, kwargs)
        return result

    basics.init = init
