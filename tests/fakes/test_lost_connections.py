"""A connection is lost where a test says so, and what was done by then stays done."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    HTTPClientError,
)

from tests.fakes.aws_clients import client, request_for
from tests.fakes.faults import (
    ARRIVED,
    CLOSED,
    HALF_BODY,
    HANDLED,
    INTERNAL,
    READ,
    RESET,
    WAYS,
    Call,
    Drop,
    Refuse,
)
from tests.fakes.sagemaker_service import SageMakerService
from tests.selection import storm

LOST = (BotoCoreError, HTTPClientError)


@pytest.fixture
def aws() -> Iterator[SageMakerService]:
    with SageMakerService() as service:
        yield service


def created(sagemaker: Any, request: dict[str, Any]) -> str:
    """What comes of a CreateTrainingJob: an ARN, the error's code, or ``lost``."""
    try:
        answer = sagemaker.create_training_job(**request)
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    except LOST:
        return "lost"
    # See the test of answers that are cut in their body.
    return str(answer.get("TrainingJobArn", "lost"))


def test_botocore_takes_an_answer_that_is_cut_in_its_body_for_one_without_members(
    aws: SageMakerService,
) -> None:
    """A launcher must miss what it needs in an answer, and not read "no more" out of it."""
    aws.faults.add(Drop(HALF_BODY), "CreateTrainingJob", times=1)

    answer = client(aws, "sagemaker", attempts=3).create_training_job(**request_for(aws))

    assert set(answer) == {"ResponseMetadata"}
    assert len(aws.received("CreateTrainingJob")) == len(aws.jobs) == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_connection_lost_after_the_job_was_created_leaves_one_job(
    aws: SageMakerService, way: str
) -> None:
    aws.faults.add(Drop(way), "CreateTrainingJob", point=HANDLED, times=1)
    sagemaker = client(aws, "sagemaker")

    assert created(sagemaker, request_for(aws)) == "lost"

    assert len(aws.jobs) == 1
    assert sagemaker.describe_training_job(TrainingJobName="job-1")["TrainingJobArn"]


@pytest.mark.parametrize("point", [ARRIVED, READ])
@pytest.mark.parametrize("way", [RESET, CLOSED])
def test_a_connection_lost_before_it_was_created_leaves_none(
    aws: SageMakerService, point: str, way: str
) -> None:
    aws.faults.add(Drop(way), "CreateTrainingJob", point=point, times=1)
    sagemaker = client(aws, "sagemaker")

    with pytest.raises(LOST):
        sagemaker.create_training_job(**request_for(aws))

    assert len(aws.jobs) == 0
    sagemaker.create_training_job(**request_for(aws))


def test_a_lost_connection_is_sent_again_by_botocore_and_the_name_is_taken_then(
    aws: SageMakerService,
) -> None:
    """What a launcher meets: its own job, told as a name that somebody has."""
    aws.faults.add(Drop(RESET), "CreateTrainingJob", point=HANDLED, times=1)

    with pytest.raises(ClientError, match="ResourceInUse"):
        client(aws, "sagemaker", attempts=3).create_training_job(**request_for(aws))
    assert len(aws.received("CreateTrainingJob")) == 2
    assert len(aws.jobs) == 1


def test_an_error_after_the_job_was_created_leaves_one_job(aws: SageMakerService) -> None:
    aws.faults.add(Refuse(INTERNAL), "CreateTrainingJob", point=HANDLED, times=1)

    with pytest.raises(ClientError, match="InternalFailure"):
        client(aws, "sagemaker").create_training_job(**request_for(aws))
    assert len(aws.jobs) == 1


@pytest.mark.storm
@pytest.mark.storm
def test_connections_lost_at_random_points_never_leave_two_jobs(
    aws: SageMakerService,
) -> None:
    chosen = random.Random(5)
    sagemaker = client(aws, "sagemaker")
    count = storm(200, small=36)
    for number in range(count):
        point, way = chosen.choice((ARRIVED, READ, HANDLED)), chosen.choice(WAYS)
        aws.faults.add(Drop(way), "CreateTrainingJob", point=point, times=1)
        request = request_for(aws, f"job-{number}")
        assert created(sagemaker, request) == "lost"
        aws.faults.clear()
        second = created(sagemaker, request)
        assert second == "ResourceInUse" or second.endswith(f"/job-{number}")

    assert len({job.name for job in aws.jobs}) == len(aws.jobs) == count


@pytest.mark.parametrize("way", WAYS)
def test_an_upload_whose_connection_is_lost_is_whole_or_absent(
    aws: SageMakerService, way: str
) -> None:
    aws.faults.add(Drop(way), "PutObject", times=1)
    s3 = client(aws, "s3")
    data = b"x" * 3_000_000

    with pytest.raises(LOST):
        s3.put_object(Bucket=aws.bucket, Key="key", Body=data)

    stored = aws.objects.get(f"s3://{aws.bucket}/key")
    # A half answer is one to an upload that was done.
    if way in (RESET, CLOSED):
        assert stored is None
    else:
        assert stored is not None
        assert stored.read() == data
    s3.put_object(Bucket=aws.bucket, Key="key", Body=data)


def test_a_client_that_dies_in_the_middle_of_a_body_leaves_nothing(aws: SageMakerService) -> None:
    seen: list[str] = []
    aws.faults.add(Call(lambda request: seen.append(request.operation)), point=READ)
    with socket.create_connection(("127.0.0.1", int(aws.url.rpartition(":")[2]))) as connection:
        head = f"PUT /{aws.bucket}/key HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
        connection.sendall(head.encode() + b"half")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""

    assert seen == []
    assert aws.objects.get(f"s3://{aws.bucket}/key") is None


def test_a_closed_connection_is_named_so(aws: SageMakerService) -> None:
    aws.faults.add(Drop(CLOSED), times=1)

    with pytest.raises(ConnectionClosedError):
        client(aws, "sagemaker").list_training_jobs()
