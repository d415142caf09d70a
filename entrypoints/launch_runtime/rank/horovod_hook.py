"""Notices ``hvd.init()`` and ``hvd.shutdown()`` in whichever framework's binding the script uses.

All of them (horovod.tensorflow, .keras, .torch, .mxnet) make an instance of one class,
horovod.common.basics.HorovodBasics. Its ``init`` and ``shutdown`` are replaced the moment that
module is imported.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

from launch_runtime.rank.import_hook import when_imported

MODULE = "horovod.common.basics"

# Gets the HorovodBasics instance and the arguments of init, or of shutdown.
Watcher = Callable[[Any, Sequence[Any], "dict[str, Any]"], None]


def install(before: Watcher, after: Watcher, leaving: Watcher | None = None) -> None:
    """From now on ``before`` is called ahead of every ``hvd.init()``, ``after`` behind it, and
    ``leaving`` ahead of every ``hvd.shutdown()``, Horovod's own at the end of the process too."""
    when_imported({MODULE: lambda module: _wrap(module.HorovodBasics, before, after, leaving)})


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
