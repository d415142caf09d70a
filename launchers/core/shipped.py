"""The ranks' own code on this side: modules of ``entrypoints``, as they are shipped.

What plan and rank, verdict and agent, or converter and inspector must see alike is written once,
there. The modules that are loaded here import nothing but the standard library.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from launchers.core.paths import entrypoints_folder

# By what name a folder of entrypoints is known here: "lib" may be another's.
_RUNTIME, _LIBRARY = "launch_runtime", "launch_lib"
_FOLDERS = {_RUNTIME: "launch_runtime", _LIBRARY: "lib"}


def runtime(name: str) -> Any:
    """The module ``launch_runtime.<name>``, imported now.

    Raises:
        LaunchError: The installation lacks it.
    """
    return _module(_RUNTIME, name)


def library(name: str) -> Any:
    """The module ``lib.<name>`` of the shared training scripts, imported now; one that imports the
    standard library alone, and its neighbours by relative imports.

    Raises:
        LaunchError: The installation lacks it.
    """
    return _module(_LIBRARY, name)


def _module(package: str, name: str) -> Any:
    if package not in sys.modules:
        folder = entrypoints_folder() / _FOLDERS[package]
        spec = spec_from_file_location(
            package, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules[package] = loaded = module_from_spec(spec)
        spec.loader.exec_module(loaded)
    return import_module(f"{package}.{name}")
