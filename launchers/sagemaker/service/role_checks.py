"""What a preflight asks of the job's role."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from launchers.core.cloud.preflight import answer, good, wrong
from launchers.core.model.document import at, entries
from launchers.core.model.problems import Problem, Severity
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.service.errors import AWS_ERRORS, code_of
from launchers.sagemaker.service.session import Session

_SERVICE = "sagemaker.amazonaws.com"


def role(session: Session, document: Mapping[str, Any]) -> list[Problem]:
    """role: iam GetRole; SageMaker must be allowed to take it on"""
    arn = str(document.get("RoleArn", ""))
    name = arn.rpartition("/")[2]
    try:
        found = session.client("iam").get_role(RoleName=name)["Role"]
    except AWS_ERRORS as error:
        if code_of(error) != "NoSuchEntity":
            raise
        return [
            RULES["role-unknown"].at(
                "role", f"{arn} does not exist", f"a role that trusts {_SERVICE}"
            )
        ]
    if found["Arn"] != arn:
        return [wrong("role", arn, found["Arn"], "give the whole ARN by --role")]
    if not _trusts(found["AssumeRolePolicyDocument"]):
        found_text = f"{arn} does not trust {_SERVICE}"
        fix = "add it to the role's trust policy (sts:AssumeRole)"
        return [wrong("role", found_text, f"a role that trusts {_SERVICE}", fix)]
    return [good("role", f"{name} trusts {_SERVICE}")]


def permissions(session: Session, document: Mapping[str, Any]) -> list[Problem]:
    """role's rights: iam SimulatePrincipalPolicy"""
    refused = refused_rights(session, str(document.get("RoleArn", "")), _needed(document))
    return [_refused_right(*one) for one in refused] or [
        good("role's rights", "read the code, write model and logs")
    ]


def refused_rights(
    session: Session, arn: str, needed: Iterable[tuple[str, str]]
) -> list[tuple[str, str, str]]:
    """Action, resource and IAM's decision for each of ``needed`` that an identity may not do.

    Raises:
        Exception: One of :data:`AWS_ERRORS`.
    """
    client, refused = session.client("iam"), []
    for action, resource in needed:
        answer = client.simulate_principal_policy(
            PolicySourceArn=arn, ActionNames=[action], ResourceArns=[resource]
        )
        for result in answer["EvaluationResults"]:
            if result["EvalDecision"] != "allowed":
                refused.append((action, resource, result["EvalDecision"]))
    return refused


def _needed(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    arn = str(document.get("RoleArn", ""))
    code = next(
        (
            at(channel, "DataSource", "S3DataSource", "S3Uri")
            for channel in entries(document, "InputDataConfig")
            if channel.get("ChannelName") == "code"
        ),
        None,
    )
    output = str(at(document, "OutputDataConfig", "S3OutputPath") or "").rstrip("/")
    needed = [("logs:CreateLogStream", "*"), ("logs:PutLogEvents", "*")]
    if code:
        needed.append(("s3:GetObject", _s3_arn(str(code), arn)))
    if output:
        needed.append(("s3:PutObject", _s3_arn(f"{output}/*", arn)))
    for place in (("CheckpointConfig", "S3Uri"), ("TensorBoardOutputConfig", "S3OutputPath")):
        folder = str(at(document, *place) or "").rstrip("/")
        if folder:
            needed.append(("s3:PutObject", _s3_arn(f"{folder}/*", arn)))
    secrets = at(document, "Environment", "LAUNCH_SECRETS")
    for reference in json.loads(secrets).values() if secrets else ():
        parts = reference.split(":")
        if parts[0] == "arn":
            action = "ssm:GetParameter" if parts[2] == "ssm" else "secretsmanager:GetSecretValue"
            # What follows a secret's name is a key of the JSON in it.
            needed.append((action, ":".join(parts[:7])))
    return needed


def _refused_right(action: str, resource: str, decision: str) -> Problem:
    """A right that a policy denies is missing for certain; one that no policy of the role gives
    may come from the resource's own policy, which the simulation does not know."""
    severity: Severity = "error" if decision == "explicitDeny" else "warning"
    return answer(
        "role's rights",
        f"{action} on {resource} is not allowed ({decision})",
        f"a role that may {action}",
        "add it to a policy of the role",
        severity,
    )


def _trusts(policy: Any) -> bool:
    """Whether a role's trust policy names SageMaker."""
    if isinstance(policy, str):
        policy = json.loads(policy)
    statements = policy.get("Statement", [])
    for statement in statements if isinstance(statements, list) else [statements]:
        principal = statement.get("Principal", {})
        services = principal.get("Service", []) if isinstance(principal, Mapping) else principal
        named = services if isinstance(services, list) else [services]
        if statement.get("Effect") == "Allow" and {_SERVICE, "*"} & set(named):
            return True
    return False


def _s3_arn(place: str, role: str) -> str:
    return f"arn:{role.split(':')[1]}:s3:::{place.removeprefix('s3://')}"
