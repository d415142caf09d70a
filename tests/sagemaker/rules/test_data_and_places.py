"""Rules over data, images and regions that the service's model does not hold."""

from __future__ import annotations

from typing import Any

import pytest

from launchers.sagemaker.rules.document import check
from tests.sagemaker.starts.test_starts import (
    FOUR,
    G5_GROUPS,
    MPI,
    ONE,
    OWN,
    PYTORCH,
    TENSORFLOW,
    TORCHRUN,
    request,
)

RULES = {
    "image-or-algorithm",
    "data-source",
    "file-system-vpc",
    "checkpoint-path",
    "image-other-region",
    "image-place",
    "role-partition",
    "visible-devices",
}
S3 = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/d"}}
FSX = {
    "FileSystemDataSource": {
        "FileSystemId": "fs-0123456789abcdef0",
        "FileSystemType": "FSxLustre",
        "FileSystemAccessMode": "ro",
        "DirectoryPath": "/fsx",
    }
}
VPC = {"SecurityGroupIds": ["sg-0123456789abcdef0"], "Subnets": ["subnet-0123456789abcdef0"]}
KEY = "arn:aws:kms:eu-west-1:123456789012:key/k"
GOV_ROLE = "arn:aws-us-gov:iam::123456789012:role/SageMaker"
GOV_IMAGE = "123456789012.dkr.ecr.us-gov-west-1.amazonaws.com/trainer:1"
CN_IMAGE = "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn/trainer:1"
MPI_OPTIONS = "sagemaker_mpi_custom_mpi_options"


def job(*flags: dict[str, str], image: str = TENSORFLOW, **fields: Any) -> dict[str, Any]:
    return {**request(image, MPI, FOUR, *flags), **fields}


def channel(source: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"ChannelName": "train", "DataSource": source}]


def algorithm(**names: str) -> dict[str, str]:
    return {"TrainingInputMode": "File", **names}


def sees(devices: str, *flags: dict[str, str], **asked: Any) -> dict[str, Any]:
    return request(PYTORCH, *(flags or (TORCHRUN,)), CUDA_VISIBLE_DEVICES=devices, **asked)


def output(key: str) -> dict[str, str]:
    return {"S3OutputPath": "s3://b/", "KmsKeyId": key}


# Name: (request, the rules of these that it breaks, by severity).
CASES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "nothing amiss": (job(InputDataConfig=channel(S3)), {}),
    "neither image nor algorithm": (
        job(AlgorithmSpecification=algorithm()), {"image-or-algorithm": "error"},
    ),
    "both": (
        job(AlgorithmSpecification=algorithm(TrainingImage=OWN, AlgorithmName="mine")),
        {"image-or-algorithm": "error"},
    ),
    "an algorithm": (job(AlgorithmSpecification=algorithm(AlgorithmName="mine")), {}),
    "an empty source": (job(InputDataConfig=channel({})), {"data-source": "error"}),
    "two sources": (
        job(InputDataConfig=channel({**S3, **FSX}), VpcConfig=VPC), {"data-source": "error"},
    ),
    "a file system without a VPC": (
        job(InputDataConfig=channel(FSX)), {"file-system-vpc": "error"},
    ),
    "a file system with one": (job(InputDataConfig=channel(FSX), VpcConfig=VPC), {}),
    "checkpoints among the input": (
        job(CheckpointConfig={"S3Uri": "s3://b/c", "LocalPath": "/opt/ml/input"}),
        {"checkpoint-path": "error"},
    ),
    "checkpoints in a channel": (
        job(CheckpointConfig={"S3Uri": "s3://b/c", "LocalPath": "/opt/ml/./input/data/c/"}),
        {"checkpoint-path": "error"},
    ),
    "checkpoints elsewhere": (
        job(CheckpointConfig={"S3Uri": "s3://b/c", "LocalPath": "/opt/ml/inputs"}), {},
    ),
    "an image of another region than a key": (
        job(OutputDataConfig=output(KEY)), {"image-other-region": "error"},
    ),
    "an image of another region than the SDK's": (
        job({"sagemaker_region": '"eu-west-1"'}), {"image-other-region": "error"},
    ),
    "an image in Docker Hub": (job(image="horovod/horovod:0.28.1"), {"image-place": "warning"}),
    "an image in ECR Public": (
        job(image="public.ecr.aws/deep-learning-containers/tensorflow-training:2.19.0-gpu-py312"),
        {"image-place": "warning"},
    ),
    "an image in a registry of the VPC": (
        job(
            AlgorithmSpecification=algorithm(
                TrainingImage="registry.example:5000/trainer:1",
                TrainingImageConfig={"TrainingRepositoryAccessMode": "Vpc"},
            ),
            VpcConfig=VPC,
        ),
        {},
    ),
    "a job of ours whose flag was told already": (
        job(image="trainer:1", Environment={"LAUNCH_WORLD_SIZE": "8"}), {},
    ),
    "an image of the same region": (job({"sagemaker_region": '"us-east-1"'}), {}),
    "a role of another partition": (
        job(image=GOV_IMAGE), {"role-partition": "error"},
    ),
    "a role of GovCloud": (job(image=GOV_IMAGE, RoleArn=GOV_ROLE), {}),
    "a role of the wrong partition in China": (
        job(image=CN_IMAGE, RoleArn=GOV_ROLE), {"role-partition": "error"},
    ),
    "one GPU for four ranks": (sees("0"), {"visible-devices": "error"}),
    "one GPU for four ranks by mpirun": (
        job({MPI_OPTIONS: '"-x CUDA_VISIBLE_DEVICES=0,1"'}), {"visible-devices": "error"},
    ),
    "no GPU on purpose": (sees("-1"), {"visible-devices": "warning"}),
    "an empty list": (sees(""), {"visible-devices": "warning"}),
    "all GPUs": (sees("0,1,2,3"), {}),
    "as many GPUs as ranks": (
        sees("2,3", TORCHRUN, {"sagemaker_mpi_num_of_processes_per_host": "2"}), {},
    ),
    "one GPU for the one process": (
        sees("0", {"sagemaker_mpi_enabled": "false"}, hosts=1, machine="ml.g5.xlarge"), {},
    ),
    "one GPU in the group that trains": (
        sees("0", MPI, FOUR, ONE, groups=G5_GROUPS), {"visible-devices": "error"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_the_service_refuses_is_told_once(name: str):
    document, expected = CASES[name]
    told = [(one.rule, one.severity) for one in check(document) if one.rule in RULES]
    assert told == list(expected.items())
