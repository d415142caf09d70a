"""File systems of channels, asked of an implementation of the services that is not ours (moto)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, update_wrapper
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from launchers.core.cloud.preflight import answers_of
from launchers.sagemaker.service.network_checks import shared_folders


class Account:
    """A VPC with a subnet and two groups: the job's, and that of file systems."""

    def __init__(self) -> None:
        self.ec2 = self.client("ec2")
        self.vpc = self.ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
        self.subnet = self.new_subnet(self.vpc, "10.1.1.0/24", "us-east-1a")
        self.group, self.storage = self.new_group("hosts"), self.new_group("storage")

    def client(self, name: str) -> Any:
        return boto3.client(
            name,
            region_name="us-east-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )

    def new_subnet(self, vpc: str, block: str, zone: str) -> str:
        made = self.ec2.create_subnet(VpcId=vpc, CidrBlock=block, AvailabilityZone=zone)
        return str(made["Subnet"]["SubnetId"])

    def new_group(self, name: str, vpc: str = "") -> str:
        made = self.ec2.create_security_group(
            GroupName=name, Description=name, VpcId=vpc or self.vpc
        )
        return str(made["GroupId"])

    def let_in(self, port: int, **source: Any) -> None:
        rule = {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, **source}
        self.ec2.authorize_security_group_ingress(GroupId=self.storage, IpPermissions=[rule])

    def efs(self, subnet: str = "", targets: bool = True) -> str:
        client = self.client("efs")
        name = str(client.create_file_system(CreationToken="x")["FileSystemId"])
        if targets:
            client.create_mount_target(
                FileSystemId=name, SubnetId=subnet or self.subnet, SecurityGroups=[self.storage]
            )
        return name

    def lustre(self) -> tuple[str, str]:
        made = self.client("fsx").create_file_system(
            FileSystemType="LUSTRE",
            StorageCapacity=1200,
            SubnetIds=[self.subnet],
            SecurityGroupIds=[self.storage],
            LustreConfiguration={"DeploymentType": "SCRATCH_2"},
        )["FileSystem"]
        return made["FileSystemId"], made.get("LustreConfiguration", {}).get("MountName", "")

    def ask(self, name: str, kind: str = "EFS", folder: str = "/", **places: Any) -> list[Any]:
        source = {"FileSystemId": name, "FileSystemType": kind, "DirectoryPath": folder}
        document = {
            "VpcConfig": {
                "Subnets": places.get("subnets", [self.subnet]),
                "SecurityGroupIds": [self.group],
            },
            "InputDataConfig": [
                {"ChannelName": "x", "DataSource": {"FileSystemDataSource": source}}
            ],
        }
        return shared_folders(self, document)  # type: ignore[arg-type]  # a session has client()


@pytest.fixture
def account() -> Iterator[Account]:
    with mock_aws():
        yield Account()


def only(problems: list[Any]) -> tuple[str, str]:
    (one,) = problems
    assert one.rule == "preflight-file-systems"
    return one.severity, one.found


def test_a_file_system_in_reach_is_well(account: Account):
    name = account.efs()
    account.let_in(2049, UserIdGroupPairs=[{"GroupId": account.group}])
    assert only(account.ask(name)) == ("ok", f"{name} is in reach")


def test_a_range_of_addresses_lets_in_as_well(account: Account):
    name = account.efs()
    account.let_in(2049, IpRanges=[{"CidrIp": "10.1.0.0/20"}])
    assert only(account.ask(name))[0] == "ok"


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"port": 22, "UserIdGroupPairs": True},
        {"port": 2049, "IpRanges": [{"CidrIp": "192.168.0.0/16"}]},
    ],
    ids=["none", "another port", "another network"],
)
def test_a_group_that_lets_nobody_in_is_refused(account: Account, rule: dict[str, Any]):
    name = account.efs()
    if rule.pop("UserIdGroupPairs", False):
        rule["UserIdGroupPairs"] = [{"GroupId": account.group}]
    if rule:
        account.let_in(**rule)
    severity, found = only(account.ask(name))
    assert severity == "error"
    assert found == f"{name}: no rule of {account.storage} lets the job in"


def test_one_without_a_mount_target_is_refused(account: Account):
    name = account.efs(targets=False)
    assert only(account.ask(name)) == ("error", f"{name} has no mount target")


def test_a_zone_without_a_mount_target_is_doubted(account: Account):
    name = account.efs()
    other = account.new_subnet(account.vpc, "10.1.2.0/24", "us-east-1b")
    severity, found = only(account.ask(name, subnets=[account.subnet, other]))
    assert (severity, found) == ("warning", f"{name} has no mount target in us-east-1b")


def test_one_in_another_network_is_doubted(account: Account):
    name = account.efs()
    vpc = account.ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    there = account.new_subnet(vpc, "10.9.1.0/24", "us-east-1a")
    severity, found = only(account.ask(name, subnets=[there]))
    assert (severity, found) == ("warning", f"{name} is in {account.vpc}")


@pytest.mark.parametrize(("kind", "name"), [("EFS", "fs-0a1b2c3d"), ("FSxLustre", "fs-0a1b2c3d4")])
def test_one_that_is_not_there_is_refused(account: Account, kind: str, name: str):
    assert only(account.ask(name, kind)) == ("error", f"{name} does not exist")


def test_a_folder_outside_of_lustres_mount_is_refused(account: Account, monkeypatch):
    name = "fs-0123456789abcdef0"
    told = {
        "FileSystemType": "LUSTRE",
        "Lifecycle": "AVAILABLE",
        "VpcId": account.vpc,
        "LustreConfiguration": {"MountName": "abcdefgh"},
    }

    class Fsx:
        def describe_file_systems(self, **_: Any) -> dict[str, Any]:
            return {"FileSystems": [told]}

    real = account.client
    monkeypatch.setattr(account, "client", lambda of: Fsx() if of == "fsx" else real(of))
    assert only(account.ask(name, "FSxLustre", "/abcdefgh/data"))[0] == "ok"
    severity, found = only(account.ask(name, "FSxLustre", "/data"))
    assert (severity, found) == ("error", f"{name} the folder is /data")
    told["Lifecycle"] = "CREATING"
    assert only(account.ask(name, "FSxLustre", "/abcdefgh")) == ("error", f"{name} is CREATING")
    told["FileSystemType"] = "WINDOWS"
    assert only(account.ask(name, "FSxLustre"))[1] == f"{name} is FSx for WINDOWS"


class Denied(Account):
    """One whose caller may not ask for file systems."""

    errors = (ClientError,)

    def client(self, name: str) -> Any:
        found = super().client(name)
        if name == "efs":
            found.describe_file_systems = self.refuse
        return found

    def refuse(self, **_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "DescribeFileSystems")

    def is_expired(self, _: Exception) -> bool:
        return False

    def is_denied(self, _: Exception) -> bool:
        return True

    def message_of(self, error: Exception) -> str:
        return str(error)


def test_what_the_caller_may_not_ask_is_unknown():
    with mock_aws():
        account = Denied()
        (one,) = answers_of(account, [_about(account.ask, "fs-0a1b2c3d")])  # type: ignore[arg-type]
    assert (one.path, one.severity) == ("file systems", "unknown")
    assert one.rule == "preflight-file-systems"


def _about(ask: Any, name: str) -> Any:
    bound = partial(ask, name)
    return update_wrapper(bound, shared_folders)
