"""Running the tests beside a mutant, in a copy of the repository that holds it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.generate import Mutant

KILLED, SURVIVED, HUNG = "killed", "survived", "hung"
_SECONDS = 300


def copy_of(root: Path, folder: Path) -> Path:
    """What git tracks of ``root``, and the files beside it that a mutant may not spoil."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    return folder


def outcome(copy: Path, mutant: Mutant, tests: Sequence[str]) -> str:
    """Whether a test notices the mutant: ``killed``, ``survived``, or ``hung`` (which the suite's
    own time-outs notice, so that it counts as killed).

    Raises:
        RuntimeError: The tests themselves cannot be run.
    """
    module = copy / mutant.path
    original = module.read_text("utf-8")
    module.write_text(mutant.source, "utf-8")
    try:
        return _run(copy, tests)
    finally:
        module.write_text(original, "utf-8")


def healthy(copy: Path, tests: Sequence[str]) -> bool:
    """Whether the tests pass without any mutant."""
    return _run(copy, tests) == SURVIVED


def _run(copy: Path, tests: Sequence[str]) -> str:
    existing = [name for name in tests if (copy / name).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
    command += ["-m", "not docker and not horovod and not pip_network and not storm", *existing]
    environment = {
        **{name: value for name, value in os.environ.items() if name != "CI"},
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    # A group of its own: a mutant in the agent may leave ranks behind.
    process = subprocess.Popen(
        command,
        cwd=copy,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return HUNG
    finally:
        _end(process)
    if process.returncode in (0, 1, 2):
        # 2: a module that cannot even be collected.
        return SURVIVED if process.returncode == 0 else KILLED
    raise RuntimeError(f"pytest exit {process.returncode}:\n{text[-2000:]}")


def _end(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()
