"""A Python with one TensorFlow and a Horovod that was compiled for it; made once and kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from infra.bootstrap import horovod_wheel
from infra.bootstrap.horovod_wheel import WheelKey
from tests.benchmarks.measure import CACHE

HOROVOD = "0.28.1"
# What Horovod's build imports, what it needs when it runs, and what the script reads digits with.
TOOLS = ("setuptools<70", "wheel", "cffi", "cloudpickle", "psutil", "pyyaml", "packaging")
OTHERS = ("scikit-learn", "pillow")


class NotThereError(Exception):
    """This stack cannot be made here; says why."""


@dataclass(frozen=True)
class Stack:
    """A TensorFlow on a Python, as ``2.8.4`` and ``3.9``, and pins beside it."""

    tensorflow: str
    python: str
    requirements: tuple[str, ...] = ()


def python_of(stack: Stack) -> Path:
    """The stack's Python. Blocks while pip installs and Horovod compiles, the first time.

    Raises:
        NotThereError: This machine has no such Python, or a package cannot be installed or built.
    """
    folder = CACHE / f"compat-tensorflow-{stack.tensorflow}-{stack.python}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    _do([_interpreter(stack.python), "-m", "venv", "--clear", str(folder)], "no environment")
    pip = [str(python), "-m", "pip", "-q", "install"]
    tensorflow = f"tensorflow-cpu=={stack.tensorflow}"
    _do([*pip, tensorflow, *stack.requirements, *TOOLS, *OTHERS], "packages cannot be installed")
    _do([*pip, "--no-deps", str(_wheel(stack, python))], "Horovod cannot be installed")
    (folder / "complete").write_text("")
    return python


def _wheel(stack: Stack, python: Path) -> Path:
    """From the cache of compiled wheels, where ``make demo`` keeps its own; else compiled."""
    major, minor = (int(word) for word in stack.python.split("."))
    machine = horovod_wheel.this_machine()
    key = WheelKey(HOROVOD, stack.tensorflow, (major, minor), machine)
    cache = horovod_wheel.cache_folder(os.environ)
    found = horovod_wheel.cached(cache, key)
    if found:
        return found
    folder = cache / key.folder_name()
    folder.mkdir(parents=True, exist_ok=True)
    build = {f"HOROVOD_WITH_{name}": "1" for name in ("TENSORFLOW", "GLOO")}
    build |= {f"HOROVOD_WITHOUT_{name}": "1" for name in ("PYTORCH", "MXNET", "MPI")}
    # Without pip's own cache: it would hand out a wheel that was built for another TensorFlow.
    options = ["--no-deps", "--no-build-isolation", "--no-cache-dir"]
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        command = [str(python), "-m", "pip", "-q", "wheel", *options, "-w", scratch]
        _do([*command, f"horovod=={HOROVOD}"], "Horovod cannot be compiled", build)
        (built,) = Path(scratch).glob("horovod-*.whl")
        os.replace(built, folder / built.name)
    found = horovod_wheel.cached(cache, key)
    if found is None:
        raise NotThereError("Horovod was compiled without TensorFlow")
    return found


def _interpreter(version: str) -> str:
    managed = Path(os.environ.get("PYENV_ROOT", "/nonexistent")).glob(f"versions/{version}.*")
    for python in (*(f"{one}/bin/python" for one in managed), shutil.which(f"python{version}")):
        # A version manager's shim may be there without its Python.
        if python and subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
            return python
    raise NotThereError(f"this machine has no Python {version}")


def _do(command: list[str], problem: str, extra: dict[str, str] | None = None) -> None:
    environment = {**os.environ, **(extra or {})}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise NotThereError(f"{problem}: {last[:200]}")
