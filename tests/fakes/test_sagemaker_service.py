"""The loopback AWS as a whole: unmodified boto3 gets from it what it would get from AWS."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from launchers.core.credentials.search import looks_like_credential
from tests.fakes.aws_clients import client, request_for
from tests.fakes.sagemaker_service import SageMakerService
from tests.places import ROOT
from tests.sagemaker import documents
from tests.waiting import until

pytestmark = pytest.mark.processes


@pytest.fixture
def aws() -> Iterator[SageMakerService]:
    with SageMakerService() as service:
        yield service


def refusal(error: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def ask(aws: SageMakerService, service: str, **how: Any) -> object:
    """One harmless question to each service."""
    one = client(aws, service, **how)
    return {
        "sagemaker": lambda: one.list_training_jobs(),
        "logs": lambda: one.describe_log_groups(),
        "s3": lambda: one.head_object(Bucket=aws.bucket, Key="there"),
        "sts": lambda: one.get_caller_identity(),
        "iam": lambda: one.get_role(RoleName="TrainingRole"),
        "service-quotas": lambda: one.list_service_quotas(ServiceCode="sagemaker"),
        "ec2": lambda: one.describe_subnets(),
        "kms": lambda: one.describe_key(KeyId="key-1"),
        "ecr": lambda: one.describe_images(repositoryName="train"),
    }[service]()


SERVICES = ("sagemaker", "logs", "s3", "sts", "iam", "service-quotas", "ec2", "kms", "ecr")


def furnish(aws: SageMakerService) -> None:
    aws.objects.put(f"s3://{aws.bucket}/there", b"x")
    aws.account.keys["key-1"] = "Enabled"
    aws.account.images[aws.account.id, "train"] = {"1.0": "sha256:" + "0" * 64}
    aws.account.subnets["subnet-1"] = ("vpc-1", "us-east-1a")


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_answers_at_the_one_address(aws: SageMakerService, service: str) -> None:
    furnish(aws)

    assert ask(aws, service)


@pytest.mark.parametrize("service", SERVICES)
def test_expired_credentials_are_refused_until_they_are_renewed(
    aws: SageMakerService, service: str
) -> None:
    furnish(aws)
    aws.account.expire()

    with pytest.raises(ClientError, match=r"(?i)expired|\(400\)"):
        ask(aws, service)

    aws.account.renew()
    assert ask(aws, service)


@pytest.mark.parametrize("service", SERVICES)
def test_credentials_of_nobody_are_refused(aws: SageMakerService, service: str) -> None:
    with SageMakerService() as other:
        stranger = other.account.add_user("stranger")

    with pytest.raises(ClientError) as error:
        ask(aws, service, identity=stranger)

    assert refusal(error)[1] in (400, 401, 403)


def test_a_body_that_was_changed_after_signing_is_refused(aws: SageMakerService) -> None:
    sagemaker = client(aws, "sagemaker")

    def change(request: Any, **_: object) -> None:
        request.body = request.body.replace(b"job-1", b"job-2")

    sagemaker.meta.events.register("before-send.sagemaker.CreateTrainingJob", change)

    with pytest.raises(ClientError) as error:
        sagemaker.create_training_job(**request_for(aws))

    assert refusal(error) == ("InvalidSignatureException", 400)
    assert len(aws.jobs) == 0


def test_a_body_that_is_set_before_signing_arrives_byte_for_byte(aws: SageMakerService) -> None:
    sagemaker = client(aws, "sagemaker")
    text = json.dumps(request_for(aws), indent=2) + "\n"

    def set_body(params: dict[str, Any], **_: object) -> None:
        params["body"] = text.encode()

    sagemaker.meta.events.register("before-call.sagemaker.CreateTrainingJob", set_body)
    sagemaker.create_training_job(**request_for(aws))

    (received,) = aws.received("CreateTrainingJob")
    assert received.body == text.encode()
    assert aws.jobs.get("job-1").body == text.encode()


def test_what_the_launcher_renders_is_accepted(aws: SageMakerService) -> None:
    request = documents.rendered(role=aws.role_arn, bucket=aws.bucket)
    for channel in request["InputDataConfig"]:
        aws.objects.put(channel["DataSource"]["S3DataSource"]["S3Uri"], b"code")

    client(aws, "sagemaker").create_training_job(**request)

    assert aws.jobs.get(request["TrainingJobName"]).document == request


@pytest.mark.parametrize(
    ("action", "service", "code"),
    [
        ("iam:GetRole", "iam", "AccessDenied"),
        ("sagemaker:ListTrainingJobs", "sagemaker", "AccessDeniedException"),
        ("ec2:*", "ec2", "UnauthorizedOperation"),
        ("kms:DescribeKey", "kms", "AccessDeniedException"),
        ("s3:GetObject", "s3", "403"),
    ],
)
def test_what_is_denied_is_refused_until_it_is_allowed(
    aws: SageMakerService, action: str, service: str, code: str
) -> None:
    furnish(aws)
    aws.account.deny(action)

    with pytest.raises(ClientError) as error:
        ask(aws, service)

    assert error.value.response["Error"]["Code"] == code
    aws.account.allow(action)
    assert ask(aws, service)


def test_a_role_that_was_taken_on_signs_with_a_session_token(aws: SageMakerService) -> None:
    session = aws.account.add_session("TrainingRole", "notebook")

    arn = client(aws, "sts", identity=session).get_caller_identity()["Arn"]

    assert arn == f"arn:aws:sts::{aws.account.id}:assumed-role/TrainingRole/notebook"
    with pytest.raises(ClientError, match="InvalidClientTokenId"):
        client(aws, "sts", identity=replace(session, token="")).get_caller_identity()


def test_what_is_not_imitated_is_refused_by_its_name(aws: SageMakerService) -> None:
    with pytest.raises(ClientError, match="cloudtrail: ListTrails is not imitated"):
        client(aws, "cloudtrail").list_trails()
    with pytest.raises(ClientError, match="sagemaker: ListModels is not imitated"):
        client(aws, "sagemaker").list_models()


def test_no_file_of_the_fake_holds_what_looks_like_a_credential() -> None:
    for path in Path(__file__).parent.glob("*.py"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert not looks_like_credential("", line), f"{path.name}:{number}"


def test_its_own_credentials_look_like_real_ones(aws: SageMakerService) -> None:
    assert looks_like_credential("", aws.account.user.access_key)


def test_closing_it_leaves_no_port_no_file_and_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = set(threading.enumerate())
    with SageMakerService() as aws:
        aws.objects.put(f"s3://{aws.bucket}/key", b"data")
        idle = client(aws, "s3")
        idle.head_bucket(Bucket=aws.bucket)
        assert list(tmp_path.iterdir())
        port = int(aws.url.rpartition(":")[2])

    assert not list(tmp_path.iterdir())
    until(lambda: not set(threading.enumerate()) - before)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_it_runs_as_a_command_for_a_client_that_knows_the_environment_alone() -> None:
    command = [sys.executable, "-m", "tests.fakes.sagemaker_service", "--any-account"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as service:
        try:
            assert service.stdout is not None
            # The last line is a comment, with the role and the bucket.
            lines = takewhile(lambda line: line.startswith("export "), service.stdout)
            variables = dict(line.removeprefix("export ").strip().split("=", 1) for line in lines)
            program = "import boto3; print(boto3.client('sts').get_caller_identity()['Arn'])"
            answer = subprocess.run(
                [sys.executable, "-c", program],
                env={"PATH": os.environ["PATH"], **variables},
                capture_output=True,
                text=True,
                check=True,
            )
            assert answer.stdout.strip() == "arn:aws:iam::111122223333:user/launcher"
        finally:
            service.send_signal(signal.SIGTERM)
            assert service.wait(timeout=30) == 0
