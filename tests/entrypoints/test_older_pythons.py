"""Agent and guard meet older images: Python 3.8, and nothing but its standard library."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.entrypoints.simulated import ENTRYPOINTS, HVD, SimulatedJob

FILES = [
    ENTRYPOINTS / "agent.py",
    ENTRYPOINTS / "guard.py",
    *sorted((ENTRYPOINTS / "launch_runtime").rglob("*.py")),
]
OURS = ("launch_runtime", "secret_references")
NAMES = [str(path.relative_to(ENTRYPOINTS)) for path in FILES]


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_file_is_written_in_the_language_of_python_3_8(path: Path) -> None:
    ast.parse(path.read_text("utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_nothing_outside_the_standard_library_is_imported(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports need a package that the script cannot see"
            names = [node.module or ""]
        for name in names:
            top = name.partition(".")[0]
            assert top in OURS or top in sys.stdlib_module_names, name


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_what_a_rank_needs_of_ours_is_imported_before_the_script_runs(path: Path) -> None:
    if "child_hook" in path.parts:
        return
    for function in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in ast.walk(function):
                assert not isinstance(node, ast.ImportFrom), function.name
                if isinstance(node, ast.Import):
                    # Named secrets alone need it, and are resolved before the script runs.
                    assert [alias.name for alias in node.names] == ["secret_references"]


def find_python(version: str) -> str:
    """An interpreter on PATH or of pyenv; skips the test where there is none."""
    managed = Path(os.environ.get("PYENV_ROOT", "/nonexistent")).glob(f"versions/{version}.*")
    candidates = [shutil.which(f"python{version}"), *(f"{found}/bin/python" for found in managed)]
    for python in candidates:
        # A version manager's shim may be there without its Python.
        if python and subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
            return python
    pytest.skip(f"this machine has no python{version}")


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_a_job_runs_on(version: str, make_job: Callable[..., SimulatedJob]) -> None:
    job = make_job(hosts=2)
    job.python = find_python(version)
    job.script(
        HVD
        + """
import subprocess, sys
assert sys.version.startswith(sys.argv[1])
subprocess.run([sys.executable, "-c", "import horovod.anyframework as h; h.init()"], check=True)
hvd.init()
print("trained", hvd.size())
"""
    )
    assert job.run(version) == [0, 0], job.text()
    assert len(job.said("trained 2")) == 2
    assert job.said("proof")
