"""What the tests of submissions to SageMaker share: the service, a project, the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from launchers.core.records.entry import Entry
from tests.cli.command import Launch
from tests.fakes.faults import THROTTLED, Refuse
from tests.fakes.job_scenarios import BY_HAND, Scenario
from tests.fakes.sagemaker_service import SageMakerService
from tests.submitting import SCRIPT, CloudBench
from tests.submitting import contents as contents

PROOF = "[1,0]<stdout>:launch: proof: world size 8: 2 hosts x 4 ranks, MPI"


class Bench(CloudBench[SageMakerService]):
    """A service, a project, and the command in it."""

    CHECK, LOOK, STORE = "GetRole", "HeadObject", "PutObject"
    CREATE, GET, CANCEL = "CreateTrainingJob", "DescribeTrainingJob", "StopTrainingJob"
    READ_LOG, READ_LINES, SEARCH = "DescribeLogStreams", "GetLogEvents", "FilterLogEvents"
    SIGN_IN, DENIED, QUOTA = "AWS_ACCESS_KEY_ID", "AccessDenied", "ResourceLimitExceeded"
    AT_WORK, NO_MACHINE = "training", "ml.nothing.large"
    SUCCESS, SECOND_HOST = "Completed", "algo-2"
    REGION = "us-east-1"

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

    def words_of_another_identity(self) -> tuple[str, ...]:
        other = self.aws.account.add_role("OtherRole").arn
        return tuple(other if word == self.aws.role_arn else word for word in self.words())

    def hold(self) -> None:
        self.aws.jobs.scenario = proven_job(paces={"Training": BY_HAND})

    def hold_before_the_start(self) -> None:
        self.aws.jobs.scenario = proven_job(pace=BY_HAND)

    def let_go(self) -> None:
        self.aws.jobs.scenario = proven_job()

    def fail(self, reason: str, seed: str = "") -> None:
        def how(document: Mapping[str, Any]) -> Scenario:
            if seed and self.seed_of(document) != seed:
                return proven_job()
            return Scenario(outcome="Failed", reason=reason)

        self.aws.jobs.scenario = how

    def prove_each(
        self, lines: Callable[[int], list[str]], failing: int = 0, hold: bool = False
    ) -> None:
        def how(document: Mapping[str, Any]) -> Scenario:
            size = int(document["Environment"]["LAUNCH_WORLD_SIZE"])
            if size == failing:
                return Scenario(outcome="Failed", reason="it broke")
            hosts = document["ResourceConfig"]["InstanceCount"]
            shape = f"{hosts} host{'s' * (hosts > 1)} x {size // hosts} ranks"
            proof = f"launch: proof: world size {size}: {shape}, MPI"
            texts = [f"[1,0]<stdout>:{text}" for text in (proof, *lines(size))]
            paces = {"Training": BY_HAND} if hold else {}
            return Scenario(lines={"algo-1": texts}, paces=paces)

        self.aws.jobs.scenario = how

    def print_lines(self, lines: Mapping[int, list[str]], failed: str = "") -> None:
        end = {"outcome": "Failed", "reason": failed} if failed else {}
        self.aws.jobs.scenario = Scenario(lines=_by_mpirun(lines), **end)

    def train(self, lines: Mapping[int, list[str]]) -> None:
        paces = {"Training": BY_HAND}
        self.aws.jobs.scenario = Scenario(lines=_by_mpirun(lines), paces=paces)

    def run(self, name: str) -> None:
        self.aws.jobs.run_to(name, "Training")

    def finish(self, name: str) -> None:
        self.aws.jobs.run_to(name, "Completed")

    def is_stopped(self, job: Any) -> bool:
        return job.status in ("Stopping", "Stopped")

    def is_known_as(self, job: Any, entry: Entry) -> bool:
        return bool(entry.name == job.name)

    def seed_of(self, document: Mapping[str, Any]) -> str:
        return str(document["HyperParameters"]["seed"])

    def word_for(self, job: Any) -> str:
        return f"sagemaker:{job.name}"

    def has_checkpoints_of(self, job: Any, name: str) -> bool:
        place = f"s3://{self.aws.bucket}/launch/checkpoints/{name}"
        return bool(job.document["CheckpointConfig"]["S3Uri"] == place)

    def expire(self) -> None:
        self.aws.account.expire()

    def renew(self) -> None:
        self.aws.account.renew()

    def deny_logs(self) -> Callable[[], None]:
        return self._deny("logs:DescribeLogStreams", "logs:GetLogEvents", "logs:FilterLogEvents")

    def deny_get(self) -> None:
        self._deny("sagemaker:DescribeTrainingJob")

    def deny_finding(self) -> Callable[[], None]:
        return self._deny("sagemaker:DescribeTrainingJob")

    def deny_storing(self) -> Callable[[], None]:
        return self._deny("s3:PutObject")

    def _deny(self, *actions: str) -> Callable[[], None]:
        self.aws.account.deny(*actions)
        return lambda: self.aws.account.allow(*actions)

    def shrink_quota(self) -> None:
        self.aws.account.limit("ml.g5.12xlarge", 0)

    def throttle(self) -> None:
        self.aws.faults.add(Refuse(THROTTLED), "sagemaker", every=2)

    def limit_requests(self) -> None:
        self.aws.account.limit("ml.g5.12xlarge", 1000)
        self.aws.faults.limit(20, "sagemaker", burst=20)

    def own_secrets(self) -> list[str]:
        return [self.aws.account.user.secret_key]

    def secret_reference(self, value: str) -> str:
        return "arn:aws:secretsmanager:us-east-1:111122223333:secret:team/wandb-AbCdEf"


def _by_mpirun(lines: Mapping[int, list[str]]) -> dict[str, list[str]]:
    """All in the first host's stream."""
    texts = [f"[1,{rank}]<stdout>:{text}" for rank in lines for text in lines[rank]]
    return {"algo-1": texts}


def bench(launch: Launch) -> Iterator[Bench]:
    """For a fixture: the service is closed afterwards."""
    (launch.folder / "train.py").write_text(SCRIPT)
    with SageMakerService() as aws:
        aws.jobs.scenario = proven_job()
        yield Bench(aws, launch)


def proven_job(*lines: str, **how: Any) -> Scenario:
    """A job of world size 8 that proves itself and prints ``lines``."""
    return Scenario(lines={"algo-1": [PROOF, *lines]}, **how)
