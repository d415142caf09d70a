"""Watches for the world and the training in a Python process that the user's script has started.

Python imports a module of this name at every start. This folder is on PYTHONPATH of what a rank
starts; any other sitecustomize that would have been found is run as if this one were not here.
"""

import os
import sys


def _watch(entrypoints: str) -> None:
    if "LAUNCH_RANK_GIVEN" not in os.environ:
        return
    sys.path.insert(0, entrypoints)
    try:
        from launch_runtime.rank import child, user_script

        child.watch()
        user_script.hide_own_modules()
    finally:
        sys.path.remove(entrypoints)


def _run_the_other() -> None:
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


_FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _FOLDER]
try:
    _watch(os.path.dirname(os.path.dirname(_FOLDER)))
except Exception as error:  # the script's own process must start all the same
    sys.stderr.write(f"launch: warning: the training is not watched in this process: {error!r}\n")
_run_the_other()
