"""The folder of one local job: what lies where."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class JobFolder:
    """Paths below one job's folder; nothing is made by asking for them."""

    path: Path

    @property
    def definition(self) -> Path:
        """The document that runs, as it was printed but for the nonce; its owner's alone."""
        return self.path / "definition.json"

    @property
    def logs(self) -> Path:
        """``job.log`` and one ``rank-N.log`` a rank."""
        return self.path / "logs"

    @property
    def job_log(self) -> Path:
        """Every tagged line of all hosts, each behind its time in seconds since the epoch."""
        return self.logs / "job.log"

    @property
    def supervisor_log(self) -> Path:
        """What the supervisor itself says; empty while all is well."""
        return self.logs / "supervisor.log"

    @property
    def model(self) -> Path:
        """LAUNCH_MODEL_DIR of the ranks."""
        return self.path / "model"

    @property
    def output(self) -> Path:
        """SM_OUTPUT_DIR of a script that was written for SageMaker."""
        return self.path / "output"

    @property
    def checkpoints(self) -> Path:
        """LAUNCH_CHECKPOINT_DIR, unless another run's or ``--checkpoint`` is used."""
        return self.path / "checkpoints"

    @property
    def packages(self) -> Path:
        """What ``--requirements`` installed for this job."""
        return self.path / "packages"

    @property
    def result(self) -> Path:
        """How the job ended, written once."""
        return self.path / "result.json"

    @property
    def reserve(self) -> Path:
        """Space kept so that a full disk still leaves room to write the result."""
        return self.path / ".reserve"

    def rank_log(self, rank: int) -> Path:
        """Everything that one rank printed, as it came."""
        return self.logs / f"rank-{rank}.log"


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else may read, from its first byte on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)


def write_whole(path: Path, value: Any) -> None:
    """Write JSON so that a reader finds the whole file or none."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w", encoding="utf-8") as stream:
        json.dump(value, stream, indent=2)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)


def read_json(path: Path) -> Any:
    """The file's value, or None where it is absent."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
