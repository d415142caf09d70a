"""Unmodified boto3 clients of the loopback service, and requests that it accepts."""

from __future__ import annotations

import threading
from typing import Any

import boto3
from botocore.config import Config

from tests.fakes.aws_signatures import Identity
from tests.fakes.object_store import DEFAULT_REGION
from tests.fakes.sagemaker_service import SageMakerService


def client(
    aws: SageMakerService,
    service: str,
    identity: Identity | None = None,
    region: str = DEFAULT_REGION,
    attempts: int = 1,
    **config: Any,
) -> Any:
    """A client of ``service``.

    Args:
        attempts: How often botocore tries in all; its own retries would hide a fault.
        config: More for :class:`botocore.config.Config`.
    """
    who = identity or aws.account.user
    retries = {"total_max_attempts": attempts, "mode": "standard"}
    with _LOCK:
        return _SESSION.client(
            service,
            endpoint_url=aws.url,
            region_name=region,
            aws_access_key_id=who.access_key,
            aws_secret_access_key=who.secret_key,
            aws_session_token=who.token or None,
            config=Config(retries=retries, **config),
        )


# One session reads each service's model once; making clients of it is not safe from two threads.
_SESSION = boto3.Session()
_LOCK = threading.Lock()


def request_for(aws: SageMakerService, name: str = "job-1", **more: Any) -> dict[str, Any]:
    """A small CreateTrainingJob request that the service accepts; its input is put into S3."""
    code = f"s3://{aws.bucket}/code/sourcedir.tar.gz"
    aws.objects.put(code, b"code")
    channel = {"S3DataType": "S3Prefix", "S3Uri": code}
    return {
        "TrainingJobName": name,
        "AlgorithmSpecification": {"TrainingImage": "image:1", "TrainingInputMode": "File"},
        "RoleArn": aws.role_arn,
        "InputDataConfig": [{"ChannelName": "code", "DataSource": {"S3DataSource": channel}}],
        "OutputDataConfig": {"S3OutputPath": f"s3://{aws.bucket}/output"},
        "ResourceConfig": {
            "InstanceType": "ml.g5.12xlarge",
            "InstanceCount": 2,
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        **more,
    }
