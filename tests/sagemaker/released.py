"""Released packages, each installed once into the user's cache folder for all runs of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def installed(*requirements: str, dependencies: bool = True, python: Path | None = None) -> Path:
    """The folder with exactly these packages; made now where the cache has none.

    Needs the package index the first time. Several runs at once do not disturb each other.

    Args:
        requirements: With their versions, ``sagemaker-training==5.1.4``.
        dependencies: Whether what they need is installed as well.
        python: Whose interpreter they are for, where it isn't this one.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "launch" / "tests"
    folder = cache / "-".join([*requirements, _tag(python)])
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="partial.", dir=cache))
    try:
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        command += ["--python", str(python)] if python else []
        command += ["install", "--quiet", "--no-compile", "--target", str(scratch)]
        command += [] if dependencies else ["--no-deps"]
        done = subprocess.run(
            [*command, *requirements], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"pip install {' '.join(requirements)}:\n{done.stderr}"
        if not folder.is_dir():
            scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _tag(python: Path | None) -> str:
    """What names that interpreter's version: ``cpython-311``."""
    if python is None:
        return sys.implementation.cache_tag or "python"
    ask = "import sys; print(sys.implementation.cache_tag)"
    done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    return done.stdout.strip()
