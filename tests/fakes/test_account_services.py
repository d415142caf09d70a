"""What a preflight asks of an account, and the answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from launchers.sagemaker.tables import machines
from tests.fakes.aws_clients import client
from tests.fakes.sagemaker_service import SageMakerService


@pytest.fixture
def aws() -> Iterator[SageMakerService]:
    with SageMakerService() as service:
        yield service


def test_a_role_says_who_may_take_it_on(aws: SageMakerService) -> None:
    aws.account.add_role("Other", path="/service-role/", trusts=("ec2.amazonaws.com",))
    role = client(aws, "iam").get_role(RoleName="Other")["Role"]

    assert role["Arn"] == f"arn:aws:iam::{aws.account.id}:role/service-role/Other"
    assert role["Path"] == "/service-role/"
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": ["ec2.amazonaws.com"]}


def test_a_role_that_does_not_exist_is_no_such_entity(aws: SageMakerService) -> None:
    with pytest.raises(ClientError, match="NoSuchEntity"):
        client(aws, "iam").get_role(RoleName="Nobody")


def test_a_simulated_policy_allows_and_denies(aws: SageMakerService) -> None:
    aws.account.add_role(
        "Narrow", allowed=frozenset({"s3:GetObject"}), denied=frozenset({"s3:PutObject"})
    )
    answer = client(aws, "iam").simulate_principal_policy(
        PolicySourceArn=aws.account.roles["Narrow"].arn,
        ActionNames=["s3:GetObject", "s3:PutObject", "s3:ListBucket"],
        ResourceArns=["arn:aws:s3:::b/*"],
    )

    decisions = {one["EvalActionName"]: one["EvalDecision"] for one in answer["EvaluationResults"]}
    assert decisions == {
        "s3:GetObject": "allowed",
        "s3:PutObject": "explicitDeny",
        "s3:ListBucket": "implicitDeny",
    }


def test_quotas_of_all_machines_come_in_pages(aws: SageMakerService) -> None:
    aws.account.limit("ml.p4d.24xlarge", 2)
    aws.account.limit("ml.p4d.24xlarge", 1, spot=True)
    pages = list(
        client(aws, "service-quotas")
        .get_paginator("list_service_quotas")
        .paginate(ServiceCode="sagemaker")
    )
    quotas = {one["QuotaName"]: one["Value"] for page in pages for one in page["Quotas"]}

    assert len(pages) > 1
    assert len(quotas) == 2 * len(machines.load())
    assert quotas["ml.p4d.24xlarge for training job usage"] == 2
    assert quotas["ml.p4d.24xlarge for spot training job usage"] == 1


def test_subnets_and_security_groups_are_found_or_named(aws: SageMakerService) -> None:
    aws.account.subnets["subnet-1"] = ("vpc-1", "us-east-1a")
    aws.account.security_groups["sg-1"] = "vpc-1"
    ec2 = client(aws, "ec2")

    (subnet,) = ec2.describe_subnets(SubnetIds=["subnet-1"])["Subnets"]
    assert (subnet["VpcId"], subnet["AvailabilityZone"]) == ("vpc-1", "us-east-1a")
    (group,) = ec2.describe_security_groups(GroupIds=["sg-1"])["SecurityGroups"]
    assert group["VpcId"] == "vpc-1"
    with pytest.raises(ClientError, match=r"InvalidSubnetID\.NotFound.*subnet-2"):
        ec2.describe_subnets(SubnetIds=["subnet-1", "subnet-2"])


def test_a_key_has_a_state(aws: SageMakerService) -> None:
    aws.account.keys["key-1"] = "PendingDeletion"
    kms = client(aws, "kms")

    told = kms.describe_key(KeyId=f"arn:aws:kms:us-east-1:{aws.account.id}:key/key-1")
    assert told["KeyMetadata"]["KeyState"] == "PendingDeletion"
    assert told["KeyMetadata"]["Enabled"] is False
    with pytest.raises(ClientError, match=r"NotFoundException.*key-2"):
        kms.describe_key(KeyId="key-2")


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"repositoryName": "train", "imageIds": [{"imageTag": "1.0"}]}, ""),
        ({"repositoryName": "train", "imageIds": [{"imageTag": "9"}]}, "ImageNotFoundException"),
        ({"repositoryName": "none"}, "RepositoryNotFoundException"),
        ({"registryId": "763104351884", "repositoryName": "train"}, "AccessDeniedException"),
    ],
)
def test_an_image_is_there_or_not_or_not_to_be_seen(
    aws: SageMakerService, asked: dict[str, object], code: str
) -> None:
    aws.account.images[aws.account.id, "train"] = {"1.0": "sha256:" + "0" * 64}
    ecr = client(aws, "ecr")

    if code:
        with pytest.raises(ClientError, match=code):
            ecr.describe_images(**asked)
    else:
        assert ecr.describe_images(**asked)["imageDetails"][0]["imageTags"] == ["1.0"]
