"""What the tests of submissions share: the service, a project, the command that submits it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.command import Answer, Launch
from tests.fakes.job_scenarios import Scenario
from tests.fakes.sagemaker_service import SageMakerService

PROOF = "[1,0]<stdout>:launch: proof: world size 8: 2 hosts x 4 ranks, MPI"
SCRIPT = "import horovod.tensorflow as hvd\nhvd.init()\n"


@dataclass(frozen=True)
class Bench:
    """A service, a project, and the command in it."""

    aws: SageMakerService
    launch: Launch

    def words(self, *more: str) -> tuple[str, ...]:
        """The command line of a job of 2 hosts with 4 GPUs."""
        return (
            "sagemaker",
            "train.py",
            "--instances",
            "2",
            "--gpus",
            "4",
            "--role",
            self.aws.role_arn,
            "--bucket",
            self.aws.bucket,
            *more,
        )

    def environment(self, **more: str) -> dict[str, str]:
        """The variables that lead to the service, and quick looks at the job."""
        return {**self.aws.environment(), "LAUNCH_POLL_SECONDS": "0.05", **more}

    def submit(self, *more: str, **environment: str) -> Answer:
        """Submit and follow."""
        return self.launch(*self.words(*more), **self.environment(**environment))

    def ask(self, *words: str, **environment: str) -> Answer:
        """Any other command."""
        return self.launch(*words, **self.environment(**environment))


def bench(launch: Launch) -> Iterator[Bench]:
    """For a fixture: the service is closed afterwards."""
    (launch.folder / "train.py").write_text(SCRIPT)
    with SageMakerService() as aws:
        aws.jobs.scenario = proven_job()
        yield Bench(aws, launch)


def proven_job(*lines: str, **how: Any) -> Scenario:
    """A job of world size 8 that proves itself and prints ``lines``."""
    return Scenario(lines={"algo-1": [PROOF, *lines]}, **how)


def contents(folder: Path) -> Iterator[bytes]:
    """Every file below ``folder``."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_bytes()
