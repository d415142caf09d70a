"""Programs on Debian's PyTorch, with a pyarrow and a Pillow that fit its NumPy."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.entrypoints.simulated import clean_environment
from tests.entrypoints.strategies.torch_ranks import PYTHON, need_torch
from tests.places import ENTRYPOINTS
from tests.sagemaker import released

HERE = Path(__file__).parent
SECONDS = 240.0


def environment(**variables: str) -> dict[str, str]:
    """What such a program needs; skips the test where there is no PyTorch."""
    need_torch()
    packages = released.installed(
        "pyarrow==17.0.0", "pillow==10.4.0", dependencies=False, python=PYTHON
    )
    path = os.pathsep.join([str(ENTRYPOINTS), str(packages)])
    return {**clean_environment(), "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **variables}


def start(program: str, *words: str, **variables: str) -> subprocess.Popen[str]:
    """Starts a program of this folder in a session of its own."""
    return subprocess.Popen(
        [str(PYTHON), str(HERE / program), *words],
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(started: subprocess.Popen[str]) -> str:
    """What it printed once it has ended with 0; whatever is left of it ends here."""
    try:
        said, errors = started.communicate(timeout=SECONDS)
    finally:
        if started.poll() is None:
            os.killpg(started.pid, 9)
            started.wait()
    assert started.returncode == 0, errors
    return said


def results(said: str) -> Mapping[str, Any]:
    """The JSON of its last line."""
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found
