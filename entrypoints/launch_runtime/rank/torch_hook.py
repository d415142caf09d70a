"""Notices when torch.distributed makes and destroys the default process group.

``torch.distributed`` takes both functions from ``distributed_c10d`` by name while it is imported,
so they are replaced the moment that module has been executed, before anybody has them.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Mapping, Sequence

from launch_runtime.rank.import_hook import when_imported

MODULE = "torch.distributed.distributed_c10d"

# Gets the module, and the arguments of the call.
Watcher = Callable[[Any, Sequence[Any], Mapping[str, Any]], None]


def install(before: Watcher, after: Watcher, leaving: Watcher) -> None:
    """From now on ``before`` is called ahead of every ``init_process_group``, ``after`` behind it,
    and ``leaving`` ahead of every ``destroy_process_group`` of the default group."""
    when_imported({MODULE: lambda module: _wrap(module, before, after, leaving)})


def _wrap(module: Any, before: Watcher, after: Watcher, leaving: Watcher) -> None:
    init, destroy = module.init_process_group, module.destroy_process_group

    @functools.wraps(init)
    def init_process_group(*args: Any, **kwargs: Any) -> Any:
        before(module, args, kwargs)
        result = init(*args, **kwargs)
        after(module, args, kwargs)
        return result

    @functools.wraps(destroy)
    def destroy_process_group(*args: Any, **kwargs: Any) -> Any:
        group = args[0] if args else kwargs.get("group")
        if module.is_initialized() and (group is None or group is default_group(module)):
            leaving(module, args, kwargs)
        return destroy(*args, **kwargs)

    module.init_process_group = init_process_group
    module.destroy_process_group = destroy_process_group


def default_group(module: Any) -> Any:
    """The group of all ranks, once there is one."""
    named = getattr(module, "GroupMember", None)
    found = getattr(named, "WORLD", None)
    return found if found is not None else module.group.WORLD
