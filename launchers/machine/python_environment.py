"""The Python that the ranks run in, and what it has installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.strategies.strategy import Strategy

# By the names of PythonEnvironment's fields.
_PACKAGES = {
    "tensorflow": "tensorflow",
    "torch": "torch",
    "horovod": "horovod",
    "keras": "keras",
    "tf_keras": "tf-keras",
    "jax": "jax",
    "pyspark": "pyspark",
}
_QUESTION = """
import importlib.util, json, os, platform
try:
    from importlib import metadata
except ImportError:
    metadata = None
def version(name):
    try:
        return metadata.version(name)
    except Exception:
        return None
versions = {field: version(package) for field, package in %r.items()}
found = importlib.util.find_spec("pyspark") if versions.get("pyspark") else None
folder = os.path.dirname(found.origin) if found and found.origin else None
print(json.dumps({"python": platform.python_version(), "pyspark_folder": folder, **versions}))
"""


@dataclass(frozen=True)
class PythonEnvironment:
    """One interpreter. Versions are None for what is not installed.

    Attributes:
        path: The interpreter, absolute, links not followed (a virtual environment's python is a
            link, and following it would leave the environment).
        origin: Where the choice came from.
        pyspark_folder: Of the package, in which Spark lies as well where pip installed it.
    """

    path: str
    origin: str
    python: str = ""
    tensorflow: str | None = None
    torch: str | None = None
    horovod: str | None = None
    keras: str | None = None
    tf_keras: str | None = None
    jax: str | None = None
    pyspark: str | None = None
    pyspark_folder: str | None = None

    def version_of(self, package: str) -> str | None:
        """The version of one of the packages that were asked for; None where it is missing."""
        version: str | None = getattr(self, package.replace("-", "_"))
        return version

    def described(self, strategy: Strategy) -> str:
        """``Python 3.11.7, TensorFlow 2.18.1, Horovod 0.28.1``, with what ``strategy`` needs."""
        parts = [f"Python {self.python}"]
        titles = (("TensorFlow", self.tensorflow), ("PyTorch", self.torch))
        parts += [f"{title} {version}" for title, version in titles if version]
        if strategy.library in ("", "Horovod"):
            parts.append(f"Horovod {self.horovod}" if self.horovod else "no Horovod")
        elif not self.version_of(strategy.package):
            parts.append(f"no {strategy.library}")
        elif strategy.library not in dict(titles):
            parts.append(f"{strategy.library} {self.version_of(strategy.package)}")
        return ", ".join(parts)


def chosen_python(named: str | None) -> tuple[str, str]:
    """The interpreter's path and where it came from: ``--python``, else the active virtual or
    conda environment, else the launcher's own."""
    if named:
        expanded = os.path.expanduser(named)
        if os.sep not in expanded:
            import shutil

            expanded = shutil.which(expanded) or expanded
        elif os.path.isdir(expanded):
            expanded = os.path.join(expanded, "bin", "python")
        return os.path.abspath(expanded), "--python"
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = os.environ.get(variable)
        if folder and os.access(os.path.join(folder, "bin", "python"), os.X_OK):
            return os.path.join(folder, "bin", "python"), variable
    return os.path.abspath(sys.executable), "the launcher's own"


def inspect(named: str | None) -> tuple[PythonEnvironment, list[Problem]]:
    """What the chosen interpreter has. Starts it once where it is not the launcher's own."""
    path, origin = chosen_python(named)
    if path == os.path.abspath(sys.executable):
        return PythonEnvironment(path, origin, **_own_versions()), []
    try:
        answer = subprocess.run(
            [path, "-c", _QUESTION % (_PACKAGES,)],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        found = json.loads(answer.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        reason = "no such file" if not Path(path).exists() else f"it cannot be run: {_short(error)}"
        problem = RULES["local-python"].at(
            origin if origin.startswith("--") else f"${origin}", f"{path} ({reason})"
        )
        return PythonEnvironment(path, origin), [problem]
    return PythonEnvironment(path, origin, **found), []


def _short(error: Exception) -> str:
    text = getattr(error, "stderr", None) or getattr(error, "strerror", None) or str(error)
    return str(text).strip().splitlines()[-1][:100] if str(text).strip() else type(error).__name__


def _own_versions() -> dict[str, Any]:
    import platform
    from importlib import metadata

    versions: dict[str, Any] = {"python": platform.python_version()}
    for name, package in _PACKAGES.items():
        try:
            versions[name] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[name] = None
    if versions["pyspark"]:
        from importlib import util

        found = util.find_spec("pyspark")  # which imports nothing of it
        versions["pyspark_folder"] = os.path.dirname(found.origin or "") if found else None
    return versions
