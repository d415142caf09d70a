"""The fake SageMaker refuses what the service refuses, in its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.fakes.aws_clients import client, request_for
from tests.fakes.sagemaker_service import SageMakerService


@pytest.fixture
def aws() -> Iterator[SageMakerService]:
    with SageMakerService() as service:
        yield service


def broken(request: dict[str, Any], place: str, value: object) -> dict[str, Any]:
    """The request with something else at ``place``, dotted; None takes it away."""
    *folders, last = place.split(".")
    inside: Any = request
    for folder in folders:
        inside = inside[int(folder)] if isinstance(inside, list) else inside.setdefault(folder, {})
    if value is None:
        del inside[last]
    else:
        inside[last] = value
    return request


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        (
            "TrainingJobName",
            "a_b",
            r"1 validation error detected: Value 'a_b' at 'trainingJobName' failed to .* pattern",
        ),
        (
            "ResourceConfig.InstanceType",
            "ml.g5.13xlarge",
            r"'resourceConfig\.instanceType' .* Member must satisfy enum value set: \[ml\.",
        ),
        (
            "Environment.A",
            "x" * 513,
            r"at 'environment' .* Map value must satisfy constraint: \[.* or equal to 512",
        ),
        (
            "InputDataConfig.0.ChannelName",
            "a b",
            r"'inputDataConfig\.1\.member\.channelName' .* regular expression",
        ),
        (
            "ResourceConfig.KeepAlivePeriodInSeconds",
            21601,
            r"'21601' at 'resourceConfig\.keepAlivePeriodInSeconds' .* have value less than or",
        ),
        (
            "StoppingCondition.MaxWaitTimeInSeconds",
            7200,
            "MaxWaitTimeInSeconds is only supported with Managed Spot",
        ),
        ("EnableManagedSpotTraining", True, "Invalid MaxWaitTimeInSeconds. It must be present"),
        ("RoleArn", "arn:aws:iam::111122223333:role/Nobody", "Could not assume role"),
        (
            "InputDataConfig.0.DataSource.S3DataSource.S3Uri",
            "s3://training-111122223333/none",
            'No S3 objects found under S3 URL "s3://training-111122223333/none"',
        ),
    ],
)
def test_what_the_service_refuses_is_a_validation_exception_in_its_words(
    aws: SageMakerService, place: str, value: object, text: str
) -> None:
    request = broken(request_for(aws), place, value)

    with pytest.raises(ClientError, match=text) as error:
        client(aws, "sagemaker").create_training_job(**request)
    assert error.value.response["Error"]["Code"] == "ValidationException"
    assert len(aws.jobs) == 0


def test_every_violation_is_told_at_once(aws: SageMakerService) -> None:
    request = broken(request_for(aws, name="a_b"), "ResourceConfig.InstanceType", "ml.none")

    with pytest.raises(ClientError, match=r"2 validation errors detected: .*; Value 'ml.none'"):
        client(aws, "sagemaker").create_training_job(**request)
