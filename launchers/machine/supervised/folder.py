"""The folder of one supervised job: what lies where, and how it is written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError
from launchers.core.records.ledger import data_folder


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
        """``job.log`` and what the provider keeps beside it."""
        return self.path / "logs"

    @property
    def job_log(self) -> Path:
        """Every tagged line of the job, each behind its time in seconds since the epoch."""
        return self.logs / "job.log"

    @property
    def supervisor_log(self) -> Path:
        """What the supervisor itself says; empty while all is well."""
        return self.logs / "supervisor.log"

    @property
    def checkpoints(self) -> Path:
        """LAUNCH_CHECKPOINT_DIR, unless another run's or ``--checkpoint`` is used."""
        return self.path / "checkpoints"

    @property
    def result(self) -> Path:
        """How the job ended, written once."""
        return self.path / "result.json"

    @property
    def reserve(self) -> Path:
        """Space kept so that a full disk still leaves room to write the result."""
        return self.path / ".reserve"


def output_root(output_path: str | None) -> Path:
    """The folder in which a job's own folder is made.

    Args:
        output_path: What ``--output-path`` says.
    """
    if output_path:
        return Path(os.path.abspath(os.path.expanduser(output_path)))
    return data_folder() / "jobs"


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else may read, from its first byte on. A lone surrogate is a byte
    that was no UTF-8 (PEP 383)."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(text)


def write_whole(path: Path, value: Any) -> None:
    """Write JSON so that a reader finds the whole file or none."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w", encoding="utf-8") as stream:
        json.dump(value, stream, indent=2)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a job's file; empty where there is no file, or one that a full disk or a
    crash has cut.

    Raises:
        LaunchError: Nobody can say now what is there: a mount is stale, a right is missing.
    """
    with reading(path):
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns an OSError inside into a LaunchError that names the job's file."""
    try:
        yield
    except OSError as error:
        found = error.strerror or str(error)
        raise LaunchError(RULES["job-folder"].at(str(path), found)) from None
