"""The Python that reads pictures and Parquet, and whether it has what is needed there."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from launchers import DISTRIBUTION
from launchers.core.extras import installer
from launchers.core.model.problems import LaunchError
from launchers.data.catalogue import RULES

PYARROW, PILLOW = "pyarrow", "PIL"
# engine -> what it imports; the extra of ours that brings all of it.
ENGINES = {
    "process": (("numpy", PYARROW, PILLOW), "data"),
    "dask": (("numpy", PYARROW, PILLOW, "distributed"), "dask"),
    "spark": (("numpy", PYARROW, PILLOW, "pyspark"), "spark"),
}
_PACKAGES = {PILLOW: "Pillow"}
_QUESTION = (
    "import json, sys; from importlib.util import find_spec; "
    "print(json.dumps([name for name in sys.argv[1:] if find_spec(name) is None]))"
)
_SECONDS = 60.0


def python_of(named: str | None) -> str:
    """The interpreter's path, links not followed: ``--python``, a folder of an environment too,
    else the launcher's own."""
    if not named:
        return os.path.abspath(sys.executable)
    path = os.path.expanduser(named)
    if os.sep not in path:
        path = shutil.which(path) or path
    elif os.path.isdir(path):
        path = os.path.join(path, "bin", "python")
    return os.path.abspath(path)


def require(python: str, modules: Sequence[str], extra: str) -> None:
    """Call it before a program that imports ``modules`` is started in ``python``. Starts that once
    where it is not the launcher's own, and waits for it.

    Raises:
        LaunchError: It cannot be run, or lacks a module; the fix installs it.
    """
    own = python == os.path.abspath(sys.executable)
    missing = [name for name in modules if not find_spec(name)] if own else _asked(python, modules)
    if not missing:
        return
    packages = [_PACKAGES.get(name, name) for name in missing]
    if own:
        fix = f'{shlex.join(installer())} "{DISTRIBUTION}[{extra}]"'
    else:
        fix = f"{shlex.quote(python)} -m pip install {shlex.join(packages)}"
    found, expected = f"no {' and no '.join(packages)} in {python}", f"what the extra {extra} has"
    fix = f"--python PATH names another Python; or install it: {fix}"
    raise LaunchError(RULES["data-packages"].at("--python", found, expected, fix))


def _asked(python: str, modules: Sequence[str]) -> list[str]:
    try:
        done = subprocess.run(
            [python, "-c", _QUESTION, *modules],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        return [str(name) for name in json.loads(done.stdout.splitlines()[-1])]
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        said = getattr(error, "stderr", None) or getattr(error, "strerror", None) or str(error)
        reason = str(said).strip().splitlines()[-1:] or [type(error).__name__]
        found = f"{python} ({reason[0][:100]})"
        raise LaunchError(RULES["data-python"].at("--python", found)) from None
