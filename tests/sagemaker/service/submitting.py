"""What the tests of submissions to SageMaker share: the service, a project, the command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.cli.command import Launch
from tests.fakes.job_scenarios import Scenario
from tests.fakes.sagemaker_service import SageMakerService
from tests.submitting import SCRIPT, CloudBench
from tests.submitting import contents as contents

PROOF = "[1,0]<stdout>:launch: proof: world size 8: 2 hosts x 4 ranks, MPI"


class Bench(CloudBench[SageMakerService]):
    """A service, a project, and the command in it."""

    @property
    def aws(self) -> SageMakerService:
        """The service."""
        return self.service

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


def bench(launch: Launch) -> Iterator[Bench]:
    """For a fixture: the service is closed afterwards."""
    (launch.folder / "train.py").write_text(SCRIPT)
    with SageMakerService() as aws:
        aws.jobs.scenario = proven_job()
        yield Bench(aws, launch)


def proven_job(*lines: str, **how: Any) -> Scenario:
    """A job of world size 8 that proves itself and prints ``lines``."""
    return Scenario(lines={"algo-1": [PROOF, *lines]}, **how)
