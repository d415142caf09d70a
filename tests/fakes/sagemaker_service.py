"""A loopback AWS for training jobs: real HTTP, which unmodified boto3 reaches by an endpoint URL.

One port speaks for SageMaker, CloudWatch Logs, S3, STS, IAM, Service Quotas, EC2, KMS, ECR
and CloudTrail. In a test::

    with SageMakerService() as aws:
        aws.jobs.scenario = Scenario(lines={"algo-1": ["hello"]})
        subprocess.run([...], env={**os.environ, **aws.environment()})
        assert len(aws.jobs) == 1

As a command, for measurements and for trying things by hand::

    python -m tests.fakes.sagemaker_service --port 0 --hosts 20 --lines 10000

prints the variables to set, then serves until it is ended.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from email.message import Message
from pathlib import Path
from typing import Any

from tests.fakes import aws_signatures, s3_wire
from tests.fakes.account_services import AccountServices
from tests.fakes.aws_account import Account
from tests.fakes.aws_signatures import Identity
from tests.fakes.aws_wire import QUERY, read_head, read_parameters, write_error, write_result
from tests.fakes.clock import Clock
from tests.fakes.cloudtrail import Trail
from tests.fakes.cloudwatch_logs import LogService
from tests.fakes.loopback import LoopbackService
from tests.fakes.object_store import DEFAULT_REGION, ObjectStore
from tests.fakes.training_jobs import TrainingJobs
from tests.fakes.wire import Answer, Request, ServiceError


class SageMakerService(LoopbackService):
    """The service, listening from the moment it is made until :meth:`close`.

    Attributes:
        account: Identities, roles, quotas, subnets, keys, images. It has one user
            (``account.user``), and unless ``bare`` the role :attr:`role_arn` and the bucket
            :attr:`bucket`.
        jobs: The training jobs, and how they go.
        logs: How their logs are given out.
        trail: Who created them, as CloudTrail tells it.
        objects: S3's buckets and objects.
        checks_signatures: Whether requests must be signed by an identity of the account.
    """

    object_service = "s3"
    common_headers: Mapping[str, str] = {"x-amzn-RequestId": "0"}

    def __init__(self, port: int = 0, clock: Clock | None = None, bare: bool = False):
        super().__init__(clock)
        self.account = Account()
        self._folder = Path(tempfile.mkdtemp(prefix="sagemaker-service-"))
        self.objects = ObjectStore(self.account, self.clock, self._folder)
        self.jobs = TrainingJobs(self.account, self.clock, self.objects)
        self.logs = LogService(self.account, self.clock, self.jobs)
        self.trail = Trail(self.clock, self.jobs)
        self.checks_signatures = True
        self._operations: dict[str, Mapping[str, Callable[..., Any]]] = {
            "sagemaker": self.jobs.operations,
            "logs": self.logs.operations,
            "cloudtrail": self.trail.operations,
            **AccountServices(self.account).operations,
        }
        self.role_arn, self.bucket = "", ""
        if not bare:
            self.role_arn = self.account.add_role("TrainingRole").arn
            self.bucket = self.objects.add_bucket(f"training-{self.account.id}").name
        self._listen(port)

    def close(self) -> None:
        """End the jobs that run for real, the connections, and the files."""
        self.jobs.close()
        super().close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def environment(
        self, identity: Identity | None = None, region: str = DEFAULT_REGION
    ) -> dict[str, str]:
        """The variables that send boto3 here, as the account's user unless said."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_DEFAULT_REGION": region,
            "AWS_REGION": region,
            # No other credentials are looked for, on disk or on a cloud's instance.
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            **(identity or self.account.user).environment,
        }

    # What the base asks.

    def _head(self, number: int, method: str, target: str, headers: Message) -> Request:
        request = read_head(number, method, target, headers)
        if request.service == "s3":
            request.operation = s3_wire.name_operation(request)
        return request

    def _body(self, request: Request) -> None:
        # A Query request says in its body what it asks.
        if request.service in QUERY:
            request.parameters = read_parameters(request)

    def _error(self, request: Request, error: ServiceError) -> Answer:
        return write_error(request, error)

    def _answer(self, request: Request) -> Answer:
        if self.checks_signatures:
            request.identity = aws_signatures.check(request, self.account.identities)
        else:
            request.identity = self.account.identities.get(request.access_key, self.account.user)
        self.account.permit(request)
        if request.service == "s3":
            return self.objects.answer(request)
        asked: Mapping[str, Any] = request.parameters or read_parameters(request)
        operation = self._operations.get(request.service, {}).get(request.operation)
        if operation is None:
            text = f"{request.service}: {request.operation} is not imitated"
            raise ServiceError("UnknownOperationException", text)
        try:
            return write_result(request, operation(request, asked))
        except (KeyError, TypeError, ValueError) as error:
            # A request that the client's own model would not have let through.
            text = f"1 validation error detected: {type(error).__name__}: {error}"
            raise ServiceError("ValidationException", text) from error


def main() -> None:
    """The command."""
    from tests.fakes.sagemaker_command import run

    run()


if __name__ == "__main__":
    main()
