"""Role, bucket and region: what is known of the account without asking it.

A dry run does not go online. What flags, launch.yaml, the environment and the AWS profile file do
not say is a placeholder there, of a form that the service's own model accepts.
"""

from __future__ import annotations

import configparser
import os
from dataclasses import dataclass

from launchers.core.paths import at_home
from launchers.core.planning import plan
from launchers.sagemaker.options import SageMakerJob

PLACEHOLDER_ROLE = "arn:aws:iam::000000000000:role/PLACEHOLDER"
PLACEHOLDER_BUCKET = "placeholder-bucket"
ASSUMED_REGION = "us-east-1"
ROLE_VARIABLE = "LAUNCH_SAGEMAKER_ROLE"
BUCKET_VARIABLE = "LAUNCH_SAGEMAKER_BUCKET"


@dataclass(frozen=True)
class Account(plan.Account):
    """What a request needs of an account, each with where it came from."""

    role: str
    role_origin: str
    bucket: str
    bucket_origin: str
    region: str
    region_origin: str

    @property
    def role_is_placeholder(self) -> bool:
        """Whether the role is yet to be filled in."""
        return self.role == PLACEHOLDER_ROLE

    @property
    def bucket_is_placeholder(self) -> bool:
        """Whether the bucket is yet to be filled in."""
        return self.bucket == PLACEHOLDER_BUCKET


def account_of(job: SageMakerJob) -> Account:
    """What ``job``, the environment and the profile file say; placeholders for the rest."""
    region, region_origin = _region(job)
    role, role_origin = _given(job.options.role, "--role", ROLE_VARIABLE)
    bucket, bucket_origin = _given(job.bucket, "--bucket", BUCKET_VARIABLE)
    bucket = bucket.removeprefix("s3://").rstrip("/")
    return Account(
        role=role or PLACEHOLDER_ROLE,
        role_origin=job.origin("role", role_origin),
        bucket=bucket or PLACEHOLDER_BUCKET,
        bucket_origin=job.origin("bucket", bucket_origin),
        region=region,
        region_origin=job.origin("region", region_origin),
    )


def _given(value: str | None, flag: str, variable: str) -> tuple[str, str]:
    if value:
        return value, flag
    if os.environ.get(variable):
        return os.environ[variable], variable
    return "", "placeholder"


def _region(job: SageMakerJob) -> tuple[str, str]:
    if job.region:
        return job.region, "--region"
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        if os.environ.get(variable):
            return os.environ[variable], variable
    region = _profile_region()
    if region:
        return region, "profile file"
    return ASSUMED_REGION, "assumed"


def _profile_region() -> str | None:
    """``region`` of the active profile in AWS's files, as botocore reads it: what the credentials
    file says goes before the configuration file."""
    profile = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    files = (
        ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials", (profile,)),
        ("AWS_CONFIG_FILE", "~/.aws/config", (profile, f"profile {profile}")),
    )
    for variable, usual, sections in files:
        parser = configparser.RawConfigParser()
        try:
            parser.read(at_home(os.environ.get(variable, usual)), encoding="utf-8")
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue
        for section in sections:
            if parser.has_option(section, "region") and parser.get(section, "region").strip():
                return parser.get(section, "region").strip()
    return None
