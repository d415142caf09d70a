"""What an executor has for the ranks: asked in a Spark task, and of the ranks' Python.

Versions are read from what is installed; no framework is imported. As a program
(``python probe.py``) it prints what the Python that runs it has, as JSON.
"""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import uuid
from importlib import metadata
from typing import Any, Mapping, Sequence

# Library -> the distributions that give it.
DISTRIBUTIONS = {
    "horovod": ("horovod",),
    "tensorflow": (
        "tensorflow",
        "tensorflow-cpu",
        "tensorflow-gpu",
        "tensorflow-rocm",
        "tensorflow-aarch64",
        "tf-nightly",
    ),
    "torch": ("torch",),
    "pandas": ("pandas",),
    "pyarrow": ("pyarrow",),
}
NO_VERSION = "without a version"
SECONDS = 60


def look(
    markers: Mapping[str, str], executable: str, others_elsewhere: bool, driver_address: str
) -> dict[str, Any]:
    """In a Spark task: what this executor has.

    Args:
        markers: Folder that rank 0 writes to -> a file that the driver has put there.
        executable: The ranks' Python, where that is another than the task's own, or "".
        others_elsewhere: Executors run on other machines too.
        driver_address: By which executors reach the driver.
    """
    # Of an executor alone: a Python that is asked for itself finds none of them.
    from pyspark import TaskContext

    from launch_runtime.host import network
    from launch_runtime.spark import where

    context: Any = TaskContext.get()
    given = context.resources().get("gpu") if context else None
    found = {
        "executor": where.executor_id(),
        "host": socket.gethostname(),
        "gpus": list(given.addresses) if given else [],
        "devices": len(glob.glob("/dev/nvidia[0-9]*")),
        "folders": {folder: _trouble_beside(marker) for folder, marker in markers.items()},
        "name_trouble": network.trouble_with_own_name(others_elsewhere),
        "interface": network.interface_of(driver_address) or "",
        "trouble": "",
    }
    return {**found, **(_asked(executable) if _is_another(executable) else python())}


def _trouble_beside(marker: str) -> str:
    """Why this process cannot write where the driver has put ``marker``, or "".

    That it is seen does not say so: an executor may run as another user than the driver.
    """
    if not os.path.exists(marker):
        return "is not seen"
    # Several tasks of one executor look at the same time.
    own = f"{marker}.{uuid.uuid4().hex}"
    try:
        with open(own, "xb"):
            pass
        os.remove(own)
    except OSError as error:
        return f"cannot be written ({error.strerror})"
    return ""


def python() -> dict[str, Any]:
    """This Python, and what it has of the libraries."""
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "versions": {name: found for name in DISTRIBUTIONS if (found := version(name))},
    }


def version(library: str) -> str:
    """A library's version; ``NO_VERSION`` where it can be imported and says none, "" where it is
    not there."""
    for name in DISTRIBUTIONS[library]:
        try:
            return str(metadata.version(name))
        except metadata.PackageNotFoundError:
            continue
    try:
        return NO_VERSION if importlib.util.find_spec(library) else ""
    except (ImportError, ValueError):
        return ""


def _is_another(executable: str) -> bool:
    """Whether the ranks' Python is not the one that runs this."""
    found = shutil.which(executable) if executable else None
    return bool(executable) and (found is None or not _same(found, sys.executable))


def _same(one: str, other: str) -> bool:
    # Not by what links lead to: a virtual environment's Python is a link to another one's.
    return os.path.abspath(one) == os.path.abspath(other)


def _asked(executable: str) -> Mapping[str, Any]:
    """What the Python ``executable`` says of itself; blocks."""
    command: Sequence[str] = [executable, os.path.abspath(__file__)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        found = json.loads(done.stdout)
    except OSError as error:
        return _silent(executable, f"cannot be started: {error.strerror}")
    except subprocess.TimeoutExpired:
        return _silent(executable, f"has said nothing for {SECONDS} s")
    except ValueError:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return _silent(executable, f"ended with code {done.returncode}: {(said or ['-'])[-1]}")
    return dict(found)


def _silent(executable: str, trouble: str) -> dict[str, Any]:
    trouble = f"the Python {executable} {trouble}"
    return {"python": "", "executable": executable, "versions": {}, "trouble": trouble}


if __name__ == "__main__":
    print(json.dumps(python()))
