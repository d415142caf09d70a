"""What an account says of itself before any job: who calls, the clock, and a preflight of a job of
each default machine."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from launchers.core.cloud.preflight import answer, good, wrong
from launchers.core.doctor.checks import (
    ATTEMPTS,
    NO_NETWORK,
    OFFLINE,
    REQUEST_SECONDS,
    clock_finding,
)
from launchers.core.model.findings import Finding, finding, skipped, well
from launchers.core.model.problems import LaunchError, Problem
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.planning.account import Account
from launchers.sagemaker.service import role_checks
from launchers.sagemaker.service.errors import AWS_ERRORS
from launchers.sagemaker.service.preflight import preflight
from launchers.sagemaker.service.resolve import caller_of, resolve
from launchers.sagemaker.service.session import Session
from launchers.sagemaker.tables.machines import default_for, load

_ROLE_LINE = "export LAUNCH_SAGEMAKER_ROLE=arn:aws:iam::ACCOUNT:role/ROLE"
_ASSUMED = re.compile(r"arn:(aws[a-z-]*):sts::(\d{12}):assumed-role/([^/]+)/.+")


def account_findings(known: Account, offline: bool) -> list[Finding]:
    """Everything that the account answers. Blocks for a few requests, one after the other."""
    session = Session(known.region, REQUEST_SECONDS, ATTEMPTS)
    if offline:
        return _unasked(session, known, OFFLINE)
    try:
        clock = clock_finding(session.clock_skew(), "AWS's")
    except AWS_ERRORS as error:
        problem = RULES["cloud-unreachable"].at("network", session.message_of(error))
        return [finding(problem), *_unasked(session, known, NO_NETWORK)]
    try:
        caller = caller_of(session)
    except LaunchError as error:
        (problem,) = error.problems
        why = "needs an identity"
        return [_no_identity(session, problem), clock, *_without_answers(known, why)]
    identity = well("identity", f"{caller['Arn']} ({_origin(session)})")
    try:
        known = resolve(replace(known, region_origin="here"), session)
        role: list[Finding] = []
    except LaunchError as error:
        role = [finding(one, "role", run=_ROLE_LINE) for one in error.problems]
        known = replace(known, role="", bucket=_default_bucket(known, caller))
    document = _document(known)
    answers = [one for one in preflight(session, document) if one.path != "identity"]
    answers += _rights_of(session, caller["Arn"], document)
    told = [finding(one, run=_command(one, known)) for one in answers if one.path != "quota"]
    return [identity, clock, *role, *told, *_quotas(answers)]


def _default_bucket(known: Account, caller: Mapping[str, Any]) -> str:
    if not known.bucket_is_placeholder:
        return known.bucket
    return f"sagemaker-{known.region}-{caller['Account']}"


def _document(known: Account) -> dict[str, Any]:
    """As much of a request as a preflight reads, with one instance of each default machine."""
    place = f"s3://{known.bucket}/launch"
    groups = [
        {"InstanceType": machine.name, "InstanceCount": 1, "InstanceGroupName": machine.name}
        for gpus in sorted({one.gpus for one in load().values()})
        if (machine := default_for(gpus)) is not None
    ]
    code = {"S3DataSource": {"S3Uri": f"{place}/code/"}}
    return {
        **({"RoleArn": known.role} if known.role else {}),
        "InputDataConfig": [{"ChannelName": "code", "DataSource": code}],
        "OutputDataConfig": {"S3OutputPath": f"{place}/output"},
        "ResourceConfig": {"InstanceGroups": groups},
    }


def _unasked(session: Session, known: Account, why: str) -> list[Finding]:
    """What can be said without the account."""
    try:
        source = session.source_of_credentials(offline=True)
    except AWS_ERRORS as error:
        return [
            _no_identity(session, session.credentials_problem(error)),
            *_without_answers(known, why),
        ]
    if source:
        identity = skipped("identity", f"credentials of {_titled(source)}: {why}")
    else:
        none = RULES["cloud-credentials"].at("identity", "none on this machine")
        identity = _no_identity(session, none)
    return [identity, *_without_answers(known, why)]


def _without_answers(known: Account, why: str) -> list[Finding]:
    """What flags and settings say."""
    if known.role_is_placeholder:
        role = finding(RULES["role-missing"].at("role", "none"), run=_ROLE_LINE)
    else:
        role = skipped("role", f"{known.role} ({known.role_origin}): {why}")
    return [role, skipped("bucket", why), skipped("quota", why)]


def _no_identity(session: Session, problem: Problem) -> Finding:
    """No credentials, or some that are not good any more, by where they came from."""
    source = _origin(session)
    fix, run = "", ""
    if not source:
        fix = "run `aws configure`, or `aws configure sso` where your company signs in so"
    elif source == "environment variables":
        fix = (
            "set new keys (AWS_SESSION_TOKEN too with temporary ones), or unset them for a profile"
        )
        run = "unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN"
    signs_in = "sso" in source or "login" in source
    command = "aws sso login" if signs_in else "aws configure"
    fix = fix or f"run `{command}`"
    if not shutil.which("aws"):
        fix += " (the aws command: pip install awscli, or AWS's installer)"
    found = problem.found + (f" (from {source})" if source else "")
    return finding(replace(problem, found=found, fix=fix), "identity", run=run or command)


def _origin(session: Session) -> str:
    """Where the credentials came from, for a person; empty where there are none."""
    try:
        return _titled(session.source_of_credentials())
    except AWS_ERRORS:
        return "a profile that cannot be used"


def _titled(source: str) -> str:
    return {"env": "environment variables", "iam-role": "this machine's role"}.get(source, source)


def _rights_of(session: Session, caller: str, document: Mapping[str, Any]) -> list[Problem]:
    """Whether the caller may send a job and follow it (iam SimulatePrincipalPolicy)."""
    name = "your rights"
    role = str(document.get("RoleArn", ""))
    match = _ASSUMED.fullmatch(caller)
    if caller.endswith(":root"):
        return [good(name, "the account's root may do all of it")]
    try:
        if match:
            caller = session.client("iam").get_role(RoleName=match[3])["Role"]["Arn"]
        needed = [
            ("sagemaker:CreateTrainingJob", "*"),
            ("sagemaker:DescribeTrainingJob", "*"),
            ("logs:GetLogEvents", "*"),
            *([("iam:PassRole", role)] if role else []),
        ]
        refused = role_checks.refused_rights(session, caller, needed)
    except AWS_ERRORS as error:
        expected = "a caller who may ask"
        return [answer(name, session.message_of(error), expected, "", "unknown")]
    if not refused:
        return [good(name, "send jobs, follow them, read their logs")]
    listed = ", ".join(action for action, _, _ in refused)
    certain = any(decision == "explicitDeny" for _, _, decision in refused)
    found, expected = f"{listed}: not allowed", "an identity that may do these"
    fix = "ask whoever gives you rights in this account for them"
    if certain:
        return [wrong(name, found, expected, fix)]
    return [answer(name, found, expected, fix, "warning")]


def _quotas(answers: list[Problem]) -> list[Finding]:
    """One finding: a quota of 0 for a machine that a user does not want stops nobody, one of 0
    for all of them everybody."""
    told = [one for one in answers if one.path == "quota"]
    short = [one for one in told if one.severity == "error"]
    well_ = [one for one in told if one.severity == "ok"]
    others = [one for one in told if one.severity not in ("ok", "error")]
    limits = "; ".join(_short(one) for one in (*well_, *short))
    found = [finding(one) for one in others]
    if short and not well_:
        return [*found, finding(replace(short[0], found=limits))]
    if short:
        return [*found, finding(replace(short[0], found=limits, severity="warning"))]
    return [*found, well("quota", limits)] if well_ else found


def _short(problem: Problem) -> str:
    """``1000 ml.g5.xlarge`` of ``1000 for 'ml.g5.xlarge for training job usage', 1 needed``."""
    count, _, name = problem.found.partition(" for '")
    return f"{count} {name.partition(' ')[0]}"


def _command(problem: Problem, known: Account) -> str:
    """The one command that mends it."""
    if problem.path == "bucket" and "does not exist" in problem.found:
        return f"aws s3 mb s3://{known.bucket} --region {known.region}"
    return ""
