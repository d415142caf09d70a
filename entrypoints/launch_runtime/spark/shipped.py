"""How our code comes to an executor, where nothing of it is importable, and must not be.

Were the bundle's folder on an executor's module path, the user's script would find our modules
there before its own.
"""

from __future__ import annotations

from typing import Any, Sequence


def call(folders: Sequence[str], module: str, function: str, *arguments: Any) -> Any:
    """Calls a function of this package on an executor, from the bundle that lies there.

    Args:
        folders: Where the bundle may lie; the first that has guard.py.
        module: Of this package.
        function: Is called with ``arguments``, and the bundle's absolute folder behind them.

    Raises:
        FileNotFoundError: The bundle is in none of them.
    """
    import importlib
    import os
    import socket
    import sys

    for folder in folders:
        entrypoints = os.path.abspath(folder)
        if os.path.isfile(os.path.join(entrypoints, "guard.py")):
            break
    else:
        raise FileNotFoundError(f"no guard.py in {list(folders)} on {socket.gethostname()}")
    if entrypoints not in sys.path:
        sys.path.insert(0, entrypoints)
    found = getattr(importlib.import_module("launch_runtime.spark." + module), function)
    return found(*arguments, entrypoints)


# cloudpickle sends a function of the main module whole, one of any other module by its name alone.
call.__module__ = "__main__"
