"""Agent and guard meet older images."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.entrypoints.simulated import HVD, SimulatedJob

pytestmark = pytest.mark.processes


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
