"""What the tests of submissions share on every cloud: a service, a project, and the command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from tests.cli.command import Answer, Launch
from tests.places import ROOT

SCRIPT = "import horovod.tensorflow as hvd\nhvd.init()\n"


class Reachable(Protocol):
    """A service on loopback."""

    def environment(self) -> dict[str, str]:
        """The variables that lead a client there."""


Service = TypeVar("Service", bound=Reachable)


@dataclass(frozen=True)
class CloudBench(Generic[Service]):
    """A service, a project, and the command in it. A provider says what a job's command is."""

    service: Service
    launch: Launch

    def words(self, *more: str) -> tuple[str, ...]:
        """The command line of a job of 2 hosts with 4 GPUs."""
        raise NotImplementedError

    def environment(self, **more: str) -> dict[str, str]:
        """The variables that lead to the service, and quick looks at the job."""
        return {**self.service.environment(), "LAUNCH_POLL_SECONDS": "0.05", **more}

    def submit(self, *more: str, **environment: str) -> Answer:
        """Submit and follow."""
        return self.launch(*self.words(*more), **self.environment(**environment))

    def ask(self, *words: str, **environment: str) -> Answer:
        """Any other command."""
        return self.launch(*words, **self.environment(**environment))

    def sweep(self, text: str, *words: str) -> Answer:
        """Submit the jobs of a sweep.yaml."""
        (self.launch.folder / "sweep.yaml").write_text(text)
        return self.submit("-f", "sweep.yaml", *words)


@contextmanager
def children(
    module: str, launch: Launch, environment: Mapping[str, str], *words: str
) -> Iterator[subprocess.Popen[str]]:
    """The process that forks a submission a line (:mod:`tests.submit_children`)."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *words, str(launch.folder / "train.py")],
        cwd=ROOT,
        env=launch.environment(environment),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.communicate()


def contents(folder: Path) -> Iterator[bytes]:
    """Every file below ``folder``."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_bytes()
