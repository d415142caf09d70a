"""Runs guard.py on small scripts, as mpirun or nobody would start it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.entrypoints.simulated import clean_environment, write_script
from tests.places import ENTRYPOINTS

ONE_HOST = {"LAUNCH_WORLD_SIZE": "1", "LAUNCH_INSTANCES": "1", "LAUNCH_PROCESSES": "1"}
TWO_HOSTS = {"LAUNCH_WORLD_SIZE": "2", "LAUNCH_INSTANCES": "2", "LAUNCH_PROCESSES": "1"}


def under_mpirun(size: int, rank: int = 0, local_size: int = 1, local_rank: int = 0) -> dict:
    """What Open MPI says to a rank, with a Horovod that was built with MPI."""
    values = {"SIZE": size, "RANK": rank, "LOCAL_SIZE": local_size, "LOCAL_RANK": local_rank}
    return {
        "STANDIN_BUILT": "mpi,gloo",
        **{f"OMPI_COMM_WORLD_{name}": str(value) for name, value in values.items()},
    }


@dataclass
class Ended:
    """A guard that has ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def ours(self) -> list[str]:
        """The guard's own lines, but for those of the evidence."""
        return [line for line in self._all if line.startswith("launch: ") and not _is_data(line)]

    @property
    def evidence(self) -> list[str]:
        """The guard's lines of evidence."""
        return [line for line in self._all if _is_data(line)]

    @property
    def printed(self) -> list[str]:
        """The script's lines."""
        return [line for line in self._all if line and not line.startswith("launch: ")]

    @property
    def _all(self) -> list[str]:
        return self.stdout.splitlines()

    def failure(self) -> dict[str, Any]:
        found = [line for line in self.ours if line.startswith("launch: failure: ")]
        assert len(found) == 1, self.stdout
        value: dict[str, Any] = json.loads(found[0].partition("failure: ")[2])
        return value


def _is_data(line: str) -> bool:
    return line.startswith("launch: evidence: ")


def run_guard(
    folder: Path,
    text: str,
    *arguments: str,
    script: str = "train.py",
    options: tuple[str, ...] = (),
    python: str = sys.executable,
    seconds: float = 60,
    entrypoints: Path = ENTRYPOINTS,
    **environment: str,
) -> Ended:
    """Writes ``text`` as the script and runs the guard on it, to its end."""
    source = folder / "source"
    write_script(source, text, script)
    ended = subprocess.run(
        [python, *options, str(entrypoints / "guard.py"), script, *arguments],
        cwd=folder, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL,
        env={**clean_environment(), "LAUNCH_SOURCE_DIR": str(source), **environment},
    )  # fmt: skip
    return Ended(ended.returncode, ended.stdout, ended.stderr)
