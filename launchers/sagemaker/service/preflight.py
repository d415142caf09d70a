"""What would stop a job, asked of the account before anything is paid for.

The checks run side by side, each a call or two that change nothing. One that the caller may not
make is ``unknown`` and stops nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any

from launchers.core.cloud.preflight import (
    Check,
    answer,
    answers_of,
    good,
    how_to_push,
    unknown,
    wrong,
)
from launchers.core.model.document import at, entries, mapping, whole_number
from launchers.core.model.problems import Problem, did_you_mean
from launchers.sagemaker.document import instance_types
from launchers.sagemaker.service import network_checks, role_checks
from launchers.sagemaker.service.errors import AWS_ERRORS, code_of, message_of
from launchers.sagemaker.service.session import Session
from launchers.sagemaker.tables.images import load

_ECR_IMAGE = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/"
    r"(?P<repository>[^:@]+)(?::(?P<tag>[^@]+))?(?:@(?P<digest>sha256:[0-9a-f]+))?"
)
_QUOTA = "{machine} for {kind} usage"


def preflight(session: Session, document: Mapping[str, Any]) -> list[Problem]:
    """All answers, those that are well included. Blocks for the slowest of the calls.

    Args:
        document: A CreateTrainingJob request without placeholders. Nothing is asked of a role
            where it names none.
    """
    asks = _Checks(session, document)
    checks: list[Check] = [asks.identity, asks.bucket, asks.quota]
    if asks.role_arn:
        checks[1:1] = [
            _about(role_checks.role, session, document),
            _about(role_checks.permissions, session, document),
        ]
    if session.region not in load()["registries"]:
        checks.append(asks.region)
    if at(document, "VpcConfig"):
        checks.append(_about(network_checks.network, session, document))
    if network_checks.file_systems(document):
        checks.append(_about(network_checks.shared_folders, session, document))
    if asks.keys:
        checks.append(asks.encryption_keys)
    if _ECR_IMAGE.fullmatch(asks.image):
        checks.append(asks.image_in_registry)
    elif asks.image and not at(document, "AlgorithmSpecification", "TrainingImageConfig"):
        checks.append(asks.image_elsewhere)
    return answers_of(session, checks)


def _about(
    check: Callable[[Session, Mapping[str, Any]], list[Problem]],
    session: Session,
    document: Mapping[str, Any],
) -> Check:
    """A check of another module, by its own name."""
    bound = partial(check, session, document)
    update_wrapper(bound, check)
    return bound


@dataclass
class _Checks:
    """The checks; the first words of their docstrings are their names in the table."""

    session: Session
    document: Mapping[str, Any]

    def __post_init__(self) -> None:
        self.role_arn = str(self.document.get("RoleArn", ""))
        self.image = str(at(self.document, "AlgorithmSpecification", "TrainingImage") or "")
        self.keys = _keys(self.document)

    def identity(self) -> list[Problem]:
        """identity: sts GetCallerIdentity"""
        caller = self.session.client("sts").get_caller_identity()
        return [good("identity", caller["Arn"])]

    def region(self) -> list[Problem]:
        """region: whether it is one of those that AWS's own images are in"""
        region = self.session.region
        near = did_you_mean(region, load()["registries"])
        return [answer("region", region, "one that this version knows", near, "unknown")]

    def bucket(self) -> list[Problem]:
        """bucket: s3 HeadBucket and its region"""
        answers = []
        for name in _buckets(self.document):
            try:
                head = self.session.client("s3").head_bucket(Bucket=name)
                where = head.get("BucketRegion") or _header(head)
            except AWS_ERRORS as error:
                headers = getattr(error, "response", {})
                if code_of(error) in ("301", "PermanentRedirect"):
                    where = _header(headers) or "another region"
                elif code_of(error) in ("404", "NoSuchBucket"):
                    answers.append(self._no_bucket(name))
                    continue
                else:
                    raise
            region = self.session.region
            if where and where != region:
                answers.append(
                    wrong(
                        "bucket",
                        f"{name} is in {where}",
                        f"a bucket in {region}",
                        "name one there with --bucket, or the other --region",
                    )
                )
            else:
                answers.append(good("bucket", f"{name}, in {region}"))
        return answers

    def _no_bucket(self, name: str) -> Problem:
        make = f"aws s3 mb s3://{name} --region {self.session.region}"
        return wrong(
            "bucket",
            f"{name} does not exist",
            "a bucket for code and model",
            f"make it: {make}, or name another with --bucket",
        )

    def quota(self) -> list[Problem]:
        """quota: service-quotas ListServiceQuotas, by name"""
        spot = bool(self.document.get("EnableManagedSpotTraining"))
        kind = "spot training job" if spot else "training job"
        wanted = {
            _QUOTA.format(machine=name, kind=kind): count
            for name, count in _machines(self.document).items()
        }
        limits = self._limits(set(wanted))
        answers = []
        for name, count in wanted.items():
            limit = limits.get(name)
            if limit is None:
                answers.append(unknown("quota", f"the account has none by the name '{name}'"))
            elif limit < count:
                fix = (
                    f"ask for more in Service Quotas (aws service-quotas request-service-quota-"
                    f"increase), or use --instances {int(limit)}"
                    if limit >= 1
                    else "ask for it in Service Quotas, or use another --machine"
                )
                found = f"{int(limit)} for '{name}'"
                answers.append(wrong("quota", found, f"at least {count}", fix))
            else:
                answers.append(good("quota", f"{int(limit)} for '{name}', {count} needed"))
        return answers

    def _limits(self, names: set[str]) -> dict[str, float]:
        client = self.session.client("service-quotas")
        found: dict[str, float] = {}
        for page in client.get_paginator("list_service_quotas").paginate(ServiceCode="sagemaker"):
            for quota in page["Quotas"]:
                if quota["QuotaName"] in names:
                    found[quota["QuotaName"]] = float(quota["Value"])
            if len(found) == len(names):
                break
        return found

    def encryption_keys(self) -> list[Problem]:
        """keys: kms DescribeKey"""
        answers = []
        for key in self.keys:
            try:
                told = self.session.client("kms").describe_key(KeyId=key)["KeyMetadata"]
            except AWS_ERRORS as error:
                if code_of(error) != "NotFoundException":
                    raise
                answers.append(wrong("keys", message_of(error), "a key that exists", ""))
                continue
            if told["KeyState"] != "Enabled":
                answers.append(wrong("keys", f"{key} is {told['KeyState']}", "Enabled", ""))
            else:
                answers.append(good("keys", f"{key} is enabled"))
        return answers

    def image_elsewhere(self) -> list[Problem]:
        """image: whether it lies where SageMaker can pull it from"""
        expected = "an image in Amazon ECR, or --private-registry"
        fix = how_to_push("ACCOUNT.dkr.ecr.REGION.amazonaws.com/REPO")
        return [wrong("image", f"{self.image} lies elsewhere", expected, fix)]

    def image_in_registry(self) -> list[Problem]:
        """image: ecr DescribeImages"""
        match = _ECR_IMAGE.fullmatch(self.image)
        assert match is not None
        if f"::{match['account']}:" not in self.role_arn:
            # AWS's own images, and other accounts': their owner's right to show.
            return [unknown("image", f"it lies in another account ({match['account']})")]
        by_digest, by_tag = {"imageDigest": match["digest"]}, {"imageTag": match["tag"] or "latest"}
        try:
            self.session.client("ecr").describe_images(
                registryId=match["account"],
                repositoryName=match["repository"],
                imageIds=[by_digest if match["digest"] else by_tag],
            )
        except AWS_ERRORS as error:
            if code_of(error) not in ("ImageNotFoundException", "RepositoryNotFoundException"):
                raise
            fix = how_to_push(self.image)
            if code_of(error) == "RepositoryNotFoundException":
                made = f"aws ecr create-repository --repository-name {match['repository']}"
                fix = f"make the repository (`{made}`), then {fix}"
            return [wrong("image", message_of(error), "an image in the registry", fix)]
        return [good("image", f"{match['repository']} is in the registry")]


def _machines(document: Mapping[str, Any]) -> dict[str, int]:
    """Machine -> instances of it, over all instance groups."""
    resources = mapping(document, "ResourceConfig")
    if not entries(resources, "InstanceGroups"):
        count = whole_number(resources.get("InstanceCount")) or 1
        return dict.fromkeys(instance_types(document), count)
    wanted: dict[str, int] = {}
    for group in entries(resources, "InstanceGroups"):
        name, count = str(group.get("InstanceType")), whole_number(group.get("InstanceCount")) or 1
        wanted[name] = wanted.get(name, 0) + count
    return wanted


def _buckets(document: Mapping[str, Any]) -> list[str]:
    """The buckets that the job reads code from and writes to."""
    places = [
        at(document, "OutputDataConfig", "S3OutputPath"),
        at(document, "CheckpointConfig", "S3Uri"),
        at(document, "TensorBoardOutputConfig", "S3OutputPath"),
        *(
            at(channel, "DataSource", "S3DataSource", "S3Uri")
            for channel in entries(document, "InputDataConfig")
            if channel.get("ChannelName") == "code"
        ),
    ]
    names = [str(place).removeprefix("s3://").partition("/")[0] for place in places if place]
    return list(dict.fromkeys(names))


def _keys(document: Mapping[str, Any]) -> list[str]:
    found = [
        at(document, "OutputDataConfig", "KmsKeyId"),
        at(document, "ResourceConfig", "VolumeKmsKeyId"),
    ]
    return list(dict.fromkeys(str(key) for key in found if key))


def _header(answer: Mapping[str, Any]) -> str:
    headers = at(answer, "ResponseMetadata", "HTTPHeaders") or {}
    return str(headers.get("x-amz-bucket-region", ""))
