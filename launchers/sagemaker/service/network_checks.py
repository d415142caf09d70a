"""What a preflight asks of the job's network: subnets, groups, the file systems in reach.

Sources: SageMaker, FileSystemDataSource (the folder of FSx begins with the mount name) and "Give
SageMaker Access to Resources in your Amazon VPC"; Amazon EFS, "Managing mount targets" (an
available one for each availability zone; NFS, TCP 2049); FSx for Lustre, "File System Access
Control with Amazon VPC" (TCP 988).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from launchers.core.cloud.preflight import answer, good, wrong
from launchers.core.model.document import at, entries, mapping
from launchers.core.model.problems import Problem
from launchers.core.planning.plan import counted
from launchers.sagemaker.service.errors import AWS_ERRORS, code_of, message_of
from launchers.sagemaker.service.session import Session

_NFS, _LUSTRE = 2049, 988  # TCP ports
_NAME = "file systems"


def network(session: Session, document: Mapping[str, Any]) -> list[Problem]:
    """network: ec2 DescribeSubnets and DescribeSecurityGroups"""
    config, client = mapping(document, "VpcConfig"), session.client("ec2")
    try:
        subnets = client.describe_subnets(SubnetIds=config.get("Subnets", []))["Subnets"]
        groups = client.describe_security_groups(GroupIds=config.get("SecurityGroupIds", []))
    except AWS_ERRORS as error:
        if not code_of(error).startswith("Invalid"):
            raise
        return [wrong("network", message_of(error), "subnets and groups that exist", "")]
    networks = {one["VpcId"] for one in [*subnets, *groups["SecurityGroups"]]}
    if len(networks) > 1:
        found = "subnets and security groups of " + ", ".join(sorted(networks))
        return [wrong("network", found, "one VPC", "")]
    return [good("network", f"{counted(len(subnets), 'subnet')} in {', '.join(networks)}")]


def file_systems(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The FileSystemDataSource of each channel that has one."""
    found = (
        at(channel, "DataSource", "FileSystemDataSource")
        for channel in entries(document, "InputDataConfig")
    )
    return [one for one in found if isinstance(one, Mapping)]


def shared_folders(session: Session, document: Mapping[str, Any]) -> list[Problem]:
    """file systems: fsx and efs DescribeFileSystems, mount targets, security groups"""
    place = _Place(session, mapping(document, "VpcConfig"))
    answers = []
    for source in file_systems(document):
        name = str(source.get("FileSystemId"))
        look = _lustre if source.get("FileSystemType") == "FSxLustre" else _efs
        try:
            answers += look(place, name, source) or [good(_NAME, f"{name} is in reach")]
        except AWS_ERRORS as error:
            if code_of(error) != "FileSystemNotFound":
                raise
            answers.append(_wrong(name, "does not exist", "a file system that exists"))
    return answers


@dataclass
class _Place:
    """Where the job's hosts will be."""

    session: Session
    config: Mapping[str, Any]

    @cached_property
    def subnets(self) -> Sequence[Mapping[str, Any]]:
        """As EC2 describes them."""
        asked = self.config.get("Subnets", [])
        found = self.session.client("ec2").describe_subnets(SubnetIds=asked)
        subnets: Sequence[Mapping[str, Any]] = found["Subnets"]
        return subnets

    @property
    def networks(self) -> set[str]:
        """Their VPCs."""
        return {str(one["VpcId"]) for one in self.subnets}

    def is_let_in(self, groups: Iterable[str], port: int) -> bool:
        """Whether a rule of ``groups`` lets this job's hosts in at a TCP port."""
        asked = sorted(set(groups))
        if not asked:
            return False
        found = self.session.client("ec2").describe_security_groups(GroupIds=asked)
        rules = (rule for one in found["SecurityGroups"] for rule in one.get("IpPermissions", []))
        return any(_covers(rule, port) and self._is_meant(rule) for rule in rules)

    def _is_meant(self, rule: Mapping[str, Any]) -> bool:
        own = set(self.config.get("SecurityGroupIds", []))
        if own & {pair.get("GroupId") for pair in rule.get("UserIdGroupPairs", [])}:
            return True
        if rule.get("PrefixListIds"):
            return True  # what they hold is not asked
        ranges = [ipaddress.ip_network(one["CidrIp"]) for one in rule.get("IpRanges", [])]
        hosts = [ipaddress.ip_network(one["CidrBlock"]) for one in self.subnets]
        return any(one.overlaps(host) for one in ranges for host in hosts)


def _covers(rule: Mapping[str, Any], port: int) -> bool:
    protocol = rule.get("IpProtocol")
    if protocol == "-1":
        return True
    return protocol == "tcp" and rule.get("FromPort", 0) <= port <= rule.get("ToPort", 65535)


def _lustre(place: _Place, name: str, source: Mapping[str, Any]) -> list[Problem]:
    told = place.session.client("fsx").describe_file_systems(FileSystemIds=[name])
    if not told["FileSystems"]:
        return [_wrong(name, "does not exist", "a file system that exists")]
    system = told["FileSystems"][0]
    if system.get("FileSystemType") != "LUSTRE":
        return [_wrong(name, f"is FSx for {system.get('FileSystemType')}", "FSx for Lustre")]
    if system.get("Lifecycle") not in ("AVAILABLE", "UPDATING"):
        return [_wrong(name, f"is {system.get('Lifecycle')}", "AVAILABLE")]
    problems = _elsewhere(place, name, {str(system.get("VpcId"))})
    mount = str(mapping(system, "LustreConfiguration").get("MountName") or "")
    folder = str(source.get("DirectoryPath") or "")
    if mount and folder.split("/")[1:2] != [mount]:
        problems.append(_wrong(name, f"the folder is {folder}", f"/{mount} or one below it"))
    if not problems:
        asked = list(system.get("NetworkInterfaceIds", []))[:20]
        client = place.session.client("ec2")
        found = client.describe_network_interfaces(NetworkInterfaceIds=asked) if asked else {}
        groups = [
            group["GroupId"]
            for one in found.get("NetworkInterfaces", [])
            for group in one.get("Groups", [])
        ]
        problems += [] if not groups else _closed(place, name, groups, _LUSTRE)
    return problems


def _efs(place: _Place, name: str, _: Mapping[str, Any]) -> list[Problem]:
    client = place.session.client("efs")
    (system,) = client.describe_file_systems(FileSystemId=name)["FileSystems"]
    if system.get("LifeCycleState") not in ("available", "updating"):
        return [_wrong(name, f"is {system.get('LifeCycleState')}", "available")]
    targets = client.describe_mount_targets(FileSystemId=name)["MountTargets"]
    ready = [one for one in targets if one.get("LifeCycleState") == "available"]
    if not ready:
        states = sorted({str(one.get("LifeCycleState")) for one in targets})
        found = f"its mount targets are {', '.join(states)}" if states else "has no mount target"
        return [_wrong(name, found, "an available one in the job's VPC")]
    problems = _elsewhere(place, name, {str(one["VpcId"]) for one in ready if "VpcId" in one})
    zones = {one.get("AvailabilityZoneName") for one in ready}
    without = sorted({str(one["AvailabilityZone"]) for one in place.subnets} - zones)
    if not problems and without:
        expected = "a mount target in the availability zone of each of the job's subnets"
        found = f"{name} has no mount target in {', '.join(without)}"
        problems.append(answer(_NAME, found, expected, "", "warning"))
    if not problems:
        groups = [
            group
            for one in ready
            for group in client.describe_mount_target_security_groups(
                MountTargetId=one["MountTargetId"]
            )["SecurityGroups"]
        ]
        problems += _closed(place, name, groups, _NFS)
    return problems


def _elsewhere(place: _Place, name: str, networks: set[str]) -> list[Problem]:
    """Networks may be connected to each other, so that this is no more than a doubt."""
    if networks & place.networks or not networks:
        return []
    found = f"{name} is in {', '.join(sorted(networks))}"
    expected = f"one in {', '.join(sorted(place.networks))}, or a network that is connected to it"
    return [answer(_NAME, found, expected, "", "warning")]


def _closed(place: _Place, name: str, groups: Iterable[str], port: int) -> list[Problem]:
    if place.is_let_in(groups, port):
        return []
    fix = f"let the job's security group in at TCP port {port}"
    asked = ", ".join(sorted(set(groups)))
    return [wrong(_NAME, f"{name}: no rule of {asked} lets the job in", f"TCP port {port}", fix)]


def _wrong(name: str, found: str, expected: str) -> Problem:
    return wrong(_NAME, f"{name} {found}", expected, "")
