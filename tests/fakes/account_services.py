"""The services that a preflight asks: STS, IAM, Service Quotas, EC2, KMS and ECR."""

from __future__ import annotations

import hashlib
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.aws_account import Account, Role, access_denied
from tests.fakes.wire import Request, ServiceError

Operation = Callable[[Request, Mapping[str, Any]], dict[str, Any]]


class AccountServices:
    """Answers from an :class:`Account`.

    Attributes:
        operations: Service -> name -> what answers it.
    """

    def __init__(self, account: Account):
        self._account = account
        self.operations: dict[str, dict[str, Operation]] = {
            "sts": {"GetCallerIdentity": self._caller},
            "iam": {"GetRole": self._get_role, "SimulatePrincipalPolicy": self._simulate},
            "servicequotas": {"ListServiceQuotas": self._quotas},
            "ec2": {
                "DescribeSubnets": self._subnets,
                "DescribeSecurityGroups": self._security_groups,
            },
            "kms": {"DescribeKey": self._key},
            "ecr": {"DescribeImages": self._images},
        }

    def _caller(self, request: Request, _: Mapping[str, Any]) -> dict[str, Any]:
        arn = request.identity.arn
        user = hashlib.sha256(arn.encode()).hexdigest()[:17].upper()
        return {"Arn": arn, "UserId": f"AIDA{user}", "Account": self._account.id}

    def _get_role(self, _: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        role = self._role(str(asked.get("RoleName", "")))
        path = role.arn.partition(":role")[2].removesuffix(role.name)
        return {
            "Role": {
                "Path": path,
                "RoleName": role.name,
                "RoleId": "AROA" + hashlib.sha256(role.arn.encode()).hexdigest()[:17].upper(),
                "Arn": role.arn,
                "CreateDate": "2026-01-01T00:00:00Z",
                "AssumeRolePolicyDocument": urllib.parse.quote(role.trust_policy),
                "MaxSessionDuration": 3600,
            }
        }

    def _simulate(self, _: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        source = str(asked.get("PolicySourceArn", ""))
        role = self._role(source.rpartition("/")[2]) if ":role/" in source else Role(source)
        results = [
            {
                "EvalActionName": action,
                "EvalResourceName": resource,
                "EvalDecision": role.decision(action),
                "MatchedStatements": [],
                "MissingContextValues": [],
            }
            for action in asked.get("ActionNames", [])
            for resource in asked.get("ResourceArns", ["*"])
        ]
        return {"EvaluationResults": results, "IsTruncated": False}

    def _role(self, name: str) -> Role:
        role = self._account.roles.get(name)
        if role is None:
            text = f"The role with name {name} cannot be found."
            raise ServiceError("NoSuchEntity", text, 404)
        return role

    def _quotas(self, request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        if asked.get("ServiceCode") != "sagemaker":
            text = "The request failed because the specified service does not exist."
            raise ServiceError("NoSuchResourceException", text)
        size = int(asked.get("MaxResults", 100))
        first = int(asked.get("NextToken", 0))
        names = sorted(self._account.quotas)
        page = [self._quota(request, name) for name in names[first : first + size]]
        more = {"NextToken": str(first + size)} if first + size < len(names) else {}
        return {"Quotas": page, **more}

    def _quota(self, request: Request, name: str) -> dict[str, Any]:
        code = "L-" + hashlib.sha256(name.encode()).hexdigest()[:8].upper()
        arn = f"arn:aws:servicequotas:{request.region}:{self._account.id}:sagemaker/{code}"
        return {
            "ServiceCode": "sagemaker",
            "ServiceName": "Amazon SageMaker",
            "QuotaArn": arn,
            "QuotaCode": code,
            "QuotaName": name,
            "Value": self._account.quotas[name],
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
        }

    def _subnets(self, _: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        known = self._account.subnets
        wanted = _known(asked.get("SubnetId"), known, "InvalidSubnetID.NotFound", "subnet ID")
        entries = [
            {
                "subnetId": name,
                "vpcId": known[name][0],
                "availabilityZone": known[name][1],
                "state": "available",
                "availableIpAddressCount": 250,
                "cidrBlock": "10.0.0.0/24",
                "ownerId": self._account.id,
            }
            for name in wanted
        ]
        return {"requestId": "0", "subnetSet": entries}

    def _security_groups(self, _: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        known = self._account.security_groups
        wanted = _known(asked.get("GroupId"), known, "InvalidGroup.NotFound", "security group")
        entries = [
            {"groupId": name, "groupName": name, "vpcId": known[name], "ownerId": self._account.id}
            for name in wanted
        ]
        return {"requestId": "0", "securityGroupInfo": entries}

    def _key(self, request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        named = str(asked.get("KeyId", ""))
        key = named.rpartition("/")[2]
        state = self._account.keys.get(key)
        arn = f"arn:aws:kms:{request.region}:{self._account.id}:key/{key}"
        if state is None:
            shown = named if named.startswith("arn:") else arn
            raise ServiceError("NotFoundException", f"Key '{shown}' does not exist")
        return {
            "KeyMetadata": {
                "AWSAccountId": self._account.id,
                "KeyId": key,
                "Arn": arn,
                "CreationDate": 1767225600.0,
                "Enabled": state == "Enabled",
                "KeyState": state,
                "KeyUsage": "ENCRYPT_DECRYPT",
                "KeyManager": "CUSTOMER",
                "Origin": "AWS_KMS",
                "MultiRegion": False,
            }
        }

    def _images(self, request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
        registry = str(asked.get("registryId", self._account.id))
        repository = str(asked["repositoryName"])
        images = self._account.images.get((registry, repository))
        where = f"in the registry with id '{registry}'"
        if images is None and registry != self._account.id:
            arn = f"arn:aws:ecr:{request.region}:{registry}:repository/{repository}"
            raise access_denied(request, request.identity.arn, "ecr:DescribeImages", arn)
        if images is None:
            text = f"The repository with name '{repository}' does not exist {where}"
            raise ServiceError("RepositoryNotFoundException", text)
        wanted = asked.get("imageIds") or [{"imageTag": tag} for tag in images]
        details = []
        for one in wanted:
            tag, digest = one.get("imageTag"), one.get("imageDigest")
            found = [name for name in images if name == tag or images[name] == digest]
            if not found:
                words = f"{{imageDigest:'{digest or 'null'}', imageTag:'{tag or 'null'}'}}"
                text = (
                    f"The image with imageId {words} does not exist within the repository "
                    f"with name '{repository}' {where}"
                )
                raise ServiceError("ImageNotFoundException", text)
            details.append(
                {
                    "registryId": registry,
                    "repositoryName": repository,
                    "imageDigest": images[found[0]],
                    "imageTags": found,
                    "imageSizeInBytes": 1 << 30,
                    "imagePushedAt": 1767225600.0,
                }
            )
        return {"imageDetails": details}


def _known(wanted: object, known: Mapping[str, Any], code: str, what: str) -> list[str]:
    """The ids that were asked for, or all.

    Raises:
        ServiceError: One is not known.
    """
    names = [str(name) for name in wanted] if isinstance(wanted, list) else list(known)
    for name in names:
        if name not in known:
            raise ServiceError(code, f"The {what} '{name}' does not exist")
    return names
