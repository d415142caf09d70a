"""Every fault strikes where it was told to, so often as it was told to, and nowhere else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    ReadTimeoutError,
)

from tests.fakes.aws_clients import client, request_for
from tests.fakes.faults import (
    ANSWERED,
    HANDLED,
    INTERNAL,
    POINTS,
    READ,
    SLOW_DOWN,
    THROTTLED,
    UNAVAILABLE,
    Call,
    Delay,
    Drop,
    Refuse,
)
from tests.fakes.sagemaker_service import SageMakerService
from tests.waiting import until

pytestmark = pytest.mark.processes

LOST = (BotoCoreError, HTTPClientError)


@pytest.fixture
def aws() -> Iterator[SageMakerService]:
    with SageMakerService() as service:
        yield service


def codes(aws: SageMakerService, count: int, **how: Any) -> list[str]:
    """What so many ListTrainingJobs, one after another, are answered with."""
    sagemaker = client(aws, "sagemaker", **how)
    answers = []
    for _ in range(count):
        try:
            sagemaker.list_training_jobs()
            answers.append("ok")
        except ClientError as error:
            answers.append(str(error.response["Error"]["Code"]))
        except LOST as error:
            answers.append(type(error).__name__)
    return answers


@pytest.mark.parametrize("error", [THROTTLED, INTERNAL, UNAVAILABLE])
def test_a_refusal_is_what_boto3_sees(aws: SageMakerService, error: Any) -> None:
    aws.faults.add(Refuse(error), "ListTrainingJobs", times=1)

    assert codes(aws, 2) == [error.code, "ok"]
    assert [one.status for one in aws.requests] == [error.status, 200]


@pytest.mark.parametrize(
    ("how", "hit"),
    [
        ({"times": 2}, "xx...."),
        ({"after": 2, "times": 1}, "..x..."),
        ({"every": 3}, "x..x.."),
        ({"after": 1, "every": 2, "times": 2}, ".x.x.."),
        ({"number": 4}, "...x.."),
    ],
)
def test_a_fault_hits_the_requests_that_it_was_told_to(
    aws: SageMakerService, how: dict[str, Any], hit: str
) -> None:
    fault = aws.faults.add(Refuse(THROTTLED), "ListTrainingJobs", **how)

    answers = codes(aws, len(hit))

    assert "".join("." if answer == "ok" else "x" for answer in answers) == hit
    assert fault.hits == hit.count("x")


def test_a_fault_by_chance_is_the_same_for_the_same_seed() -> None:
    answers = []
    for _ in range(2):
        with SageMakerService() as aws:
            aws.faults.add(Refuse(THROTTLED), chance=0.5, seed=7)
            answers.append(codes(aws, 30))

    assert answers[0] == answers[1]
    assert 5 < answers[0].count("ok") < 25


def test_a_fault_of_one_operation_or_service_leaves_the_others_alone(
    aws: SageMakerService,
) -> None:
    aws.faults.add(Refuse(THROTTLED), "FilterLogEvents", "sts")

    assert codes(aws, 1) == ["ok"]
    with pytest.raises(ClientError, match="ThrottlingException"):
        client(aws, "sts").get_caller_identity()


def test_faults_end_when_they_are_cleared(aws: SageMakerService) -> None:
    one = aws.faults.add(Refuse(THROTTLED))
    aws.faults.add(Refuse(THROTTLED), "iam")
    aws.faults.remove(one)
    assert codes(aws, 1) == ["ok"]
    aws.faults.add(Refuse(THROTTLED))
    aws.faults.clear()
    assert codes(aws, 1) == ["ok"]


def test_botocore_itself_gets_over_a_throttled_answer(aws: SageMakerService) -> None:
    aws.faults.add(Refuse(THROTTLED), times=1)

    assert codes(aws, 1, attempts=3) == ["ok"]
    assert len(aws.requests) == 2


def test_a_delay_runs_a_client_into_its_timeout(aws: SageMakerService) -> None:
    aws.faults.add(Delay(1.0), times=1)

    with pytest.raises(ReadTimeoutError):
        client(aws, "sagemaker", read_timeout=0.1).list_training_jobs()


@pytest.mark.parametrize("point", POINTS)
def test_a_hook_is_called_at_every_point_of_a_request(aws: SageMakerService, point: str) -> None:
    called = threading.Event()
    jobs: list[int] = []

    def hook(_: object) -> None:
        jobs.append(len(aws.jobs))
        called.set()

    aws.faults.add(Call(hook), "CreateTrainingJob", point=point)
    client(aws, "sagemaker").create_training_job(**request_for(aws))

    assert called.wait(30)
    assert jobs == [1 if point in (HANDLED, ANSWERED) else 0]


def test_a_hook_is_called_at_the_request_of_that_number(aws: SageMakerService) -> None:
    seen: list[str] = []
    aws.faults.add(Call(lambda request: seen.append(request.operation)), number=2)
    client(aws, "sts").get_caller_identity()
    client(aws, "iam").get_role(RoleName="TrainingRole")
    client(aws, "sts").get_caller_identity()

    assert seen == ["GetRole"]
    aws.forget_requests()
    client(aws, "s3").head_bucket(Bucket=aws.bucket)
    assert [one.number for one in aws.requests] == [1]


DYING = """
import os
import boto3
s3, sagemaker = boto3.client("s3"), boto3.client("sagemaker")
boto3.client("sts").get_caller_identity()
s3.put_object(Bucket=os.environ["BUCKET"], Key="key", Body=b"code")
sagemaker.list_training_jobs()
"""


@pytest.mark.parametrize("point", [READ, HANDLED])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_client_is_killed_at_whatever_request_a_test_says(
    aws: SageMakerService, number: int, point: str
) -> None:
    """What it had sent by then is done all the same."""
    started: list[subprocess.Popen[bytes]] = []
    aws.faults.add(Call(lambda _: started[0].kill()), number=number, point=point)
    environment = {"PATH": os.environ["PATH"], "BUCKET": aws.bucket, **aws.environment()}
    started.append(subprocess.Popen([sys.executable, "-c", DYING], env=environment))

    assert started[0].wait(60) == -signal.SIGKILL
    assert len(aws.requests) == number
    until(lambda: (aws.objects.get(f"s3://{aws.bucket}/key") is not None) == (number >= 2))


def test_what_comes_faster_than_the_limit_is_throttled(aws: SageMakerService) -> None:
    limit = aws.faults.limit(0.001, "ListTrainingJobs", burst=3)

    assert codes(aws, 5) == ["ok"] * 3 + ["ThrottlingException"] * 2
    assert limit.hits == 2


def test_a_hook_may_let_the_credentials_expire_in_the_middle(aws: SageMakerService) -> None:
    aws.faults.add(Call(lambda _: aws.account.expire()), number=3)
    aws.faults.add(Call(lambda _: aws.account.renew()), number=5)

    assert codes(aws, 5) == ["ok", "ok", "ExpiredTokenException", "ExpiredTokenException", "ok"]


def test_s3_slows_down(aws: SageMakerService) -> None:
    aws.faults.add(Refuse(SLOW_DOWN), "s3", times=1)
    s3 = client(aws, "s3")

    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=aws.bucket, Key="k", Body=b"")
    assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    s3.put_object(Bucket=aws.bucket, Key="k", Body=b"")


def test_fifty_clients_at_once_are_all_answered(aws: SageMakerService) -> None:
    aws.faults.limit(50, "CreateTrainingJob", burst=5)

    def submit(number: int) -> str:
        sagemaker = client(aws, "sagemaker", attempts=20)
        return str(sagemaker.create_training_job(**request_for(aws, f"job-{number}")))

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(submit, range(50)))

    assert len(aws.jobs) == 50


def test_a_fault_at_no_such_point_is_an_error(aws: SageMakerService) -> None:
    with pytest.raises(ValueError, match="handeld"):
        aws.faults.add(Drop(), point="handeld")
