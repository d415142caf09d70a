"""Role, bucket and region of a submission: what the job, the environment and the profile file do
not say is asked of the account. The one online step before the document."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from launchers.core.cloud.errors import with_retries
from launchers.core.model.problems import LaunchError, Problem
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.planning.account import Account
from launchers.sagemaker.service.errors import AWS_ERRORS
from launchers.sagemaker.service.session import Session, session_for

_ASSUMED_ROLE = re.compile(r"arn:(aws[a-z-]*):sts::(\d{12}):assumed-role/([^/]+)/.+")


def resolve(known: Account, session: Session | None = None) -> Account:
    """``known`` with role and bucket, and with where each came from.

    The account is asked who calls only where role or bucket are not given.

    Args:
        session: That of the region, where it is to be another than a submission's.

    Raises:
        LaunchError: There is no region or no role, or the caller has no credentials.
    """
    if known.region_origin == "assumed":
        raise LaunchError(_no_region())
    if not known.role_is_placeholder and not known.bucket_is_placeholder:
        return known
    session = session or session_for(known.region)
    caller = caller_of(session)
    if known.role_is_placeholder:
        role = _role_of(session, caller)
        known = replace(known, role=role, role_origin="the caller's own role")
    if known.bucket_is_placeholder:
        # The name that SageMaker's own SDK gives an account's default bucket.
        bucket = f"sagemaker-{known.region}-{caller['Account']}"
        known = replace(known, bucket=bucket, bucket_origin="the account's default")
    return known


def caller_of(session: Session) -> dict[str, Any]:
    """``Arn`` and ``Account`` of the caller (sts GetCallerIdentity).

    Raises:
        LaunchError: There are no credentials, or they are not valid.
    """
    try:
        answer: dict[str, Any] = with_retries(
            session, lambda: session.client("sts", attempts=1).get_caller_identity()
        )
    except AWS_ERRORS as error:
        raise session.refused(error, "sts GetCallerIdentity") from None
    return answer


def _role_of(session: Session, caller: dict[str, Any]) -> str:
    """The role that the caller runs as, as a SageMaker notebook does.

    Raises:
        LaunchError: The caller is a user, or a role of a person's login.
    """
    match = _ASSUMED_ROLE.fullmatch(caller["Arn"])
    if match is None or match[3].startswith("AWSReservedSSO_"):
        raise LaunchError(
            RULES["role-missing"].at(
                "--role", f"none; the caller is {caller['Arn']}, which no job can run as"
            )
        )
    try:
        # The caller's ARN lacks the role's path.
        found = session.client("iam").get_role(RoleName=match[3])
        return str(found["Role"]["Arn"])
    except AWS_ERRORS:
        return f"arn:{match[1]}:iam::{match[2]}:role/{match[3]}"


def _no_region() -> Problem:
    return RULES["region-missing"].at(
        "--region",
        "none",
        "where the job runs",
        "give --region, set AWS_REGION, or `region` in the profile file",
    )
