"""This package on Dask's workers, which need no copy of it: it travels as a zip and runs there.

The zip goes under a name made of its content, so that workers which serve several jobs, of several
versions, mix nothing up. It is an ordinary task's result: workers that come later get it, too, and
nothing stays at the scheduler when the job is gone.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

_HERE = Path(__file__).parent
_TIME = (1980, 1, 1, 0, 0, 0)  # the same zip from the same files


@dataclass(frozen=True)
class Code:
    """A package to import elsewhere.

    Attributes:
        name: It is imported by this name there; its modules import each other relatively.
        content: The zip.
    """

    name: str
    content: bytes


def packed(folder: Path = _HERE) -> Code:
    """The Python files in ``folder``, a package; the same name for the same files."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*.py"))
    }
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()
    name = f"launch_lib_{digest[:16]}"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(f"{name}/{path}", _TIME), text)
    return Code(name, content.getvalue())


def caller() -> Callable[..., Any]:
    """``call(name, content, module, function, *arguments)`` for a worker: imports and calls.

    ``module`` is a path in the package: "data.dask_tasks". It is a function in a function, as
    Dask sends those whole, where it would send only the names of others.
    """

    def call(name: str, content: bytes, module: str, function: str, *arguments: Any) -> Any:
        import importlib
        import os
        import sys
        import tempfile

        from distributed import get_worker

        if name not in sys.modules:
            folder = get_worker().local_directory
            path = os.path.join(folder, f"{name}.zip")
            # Another thread may import from it already.
            handle, unfinished = tempfile.mkstemp(dir=folder)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(unfinished, path)
            if path not in sys.path:
                sys.path.append(path)
            importlib.invalidate_caches()
        return getattr(importlib.import_module(f"{name}.{module}"), function)(*arguments)

    return call


def identity() -> Callable[[Any], Any]:
    """A function that gives its argument, whole for Dask as ``caller``'s."""
    return lambda value: value
