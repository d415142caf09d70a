"""The ranks' own code on this side: modules of ``entrypoints/launch_runtime``, as they are shipped.

What plan and rank, or verdict and agent, must see alike is written once, there. Those modules
import nothing but the standard library.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from launchers.core.paths import entrypoints_folder

_PACKAGE = "launch_runtime"


def runtime(name: str) -> Any:
    """The module ``launch_runtime.<name>``, imported now.

    Raises:
        LaunchError: The installation lacks it.
    """
    if _PACKAGE not in sys.modules:
        folder = entrypoints_folder() / _PACKAGE
        spec = spec_from_file_location(
            _PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules[_PACKAGE] = package = module_from_spec(spec)
        spec.loader.exec_module(package)
    return import_module(f"{_PACKAGE}.{name}")
