"""`launch doctor sagemaker` against an account on loopback, by the unmodified client."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from launchers.core.sdk import table
from launchers.sagemaker.tables.machines import default_for
from tests.cli.doctor import Doctor, Examined, examined
from tests.fakes.sagemaker_service import SageMakerService

MACHINES = [default_for(gpus).name for gpus in (0, 1, 4, 8)]  # type: ignore[union-attr]


@pytest.fixture
def doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    return examined(tmp_path, monkeypatch, capsys)


@pytest.fixture
def aws(doctor: Doctor) -> Iterator[SageMakerService]:
    """An account where all is well, which this process's environment leads to."""
    with SageMakerService() as service:
        doctor.sees(
            {
                **service.environment(),
                "LAUNCH_SAGEMAKER_ROLE": service.role_arn,
                "LAUNCH_SAGEMAKER_BUCKET": service.bucket,
            }
        )
        yield service


def test_an_account_where_all_is_well(doctor: Doctor, aws: SageMakerService):
    told = doctor.json("sagemaker")
    found = told.of("sagemaker")
    assert told.code == 0, told.out
    assert {one["state"] for one in found.values()} == {"ok"}, found
    assert list(found) == [
        *("boto3", "botocore", "sagemaker", "region", "identity", "clock"),
        *("role", "role's rights", "bucket", "your rights", "quota"),
    ]
    assert found["identity"]["found"] == f"{aws.account.user.arn} (environment variables)"
    assert found["region"]["found"] == "us-east-1 (AWS_REGION)"
    assert all(name in found["quota"]["found"] for name in MACHINES)


def test_it_changes_nothing(doctor: Doctor, aws: SageMakerService):
    doctor("sagemaker")
    asked = {one.operation for one in aws.requests if one.access_key}
    assert asked == {
        "GetCallerIdentity",
        "GetRole",
        "HeadBucket",
        "ListServiceQuotas",
        "SimulatePrincipalPolicy",
    }


def no_trust(aws: SageMakerService) -> None:
    aws.account.add_role("TrainingRole", trusts=("ec2.amazonaws.com",))


def elsewhere(aws: SageMakerService) -> None:
    aws.objects.add_bucket(aws.bucket, "eu-west-1")


def no_quota(aws: SageMakerService) -> None:
    for machine in MACHINES:
        aws.account.limit(machine, 0)


Spoil = Callable[[SageMakerService], object]
# What is spoilt, which finding says so, by which rule, in which words.
WRONG: dict[str, tuple[Spoil, str, str, str]] = {
    "an expired token": (
        lambda aws: aws.account.expire(),
        "identity",
        "cloud-credentials",
        "expired (from environment variables)",
    ),
    "a role that does not trust SageMaker": (
        no_trust,
        "role",
        "preflight-role",
        "does not trust sagemaker.amazonaws.com",
    ),
    "a role that is not there": (
        lambda aws: aws.account.roles.clear(),
        "role",
        "role-unknown",
        "does not exist",
    ),
    "a right that the role is denied": (
        lambda aws: aws.account.add_role("TrainingRole", denied=frozenset({"s3:PutObject"})),
        "role's rights",
        "preflight-role-rights",
        "s3:PutObject",
    ),
    "a bucket in another region": (elsewhere, "bucket", "preflight-bucket", "is in eu-west-1"),
    "a bucket that is not there": (
        lambda aws: aws.objects.buckets.clear(),
        "bucket",
        "preflight-bucket",
        "does not exist",
    ),
    "no quota for any default machine": (
        no_quota,
        "quota",
        "preflight-quota",
        "0 ml.g5.xlarge",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_would_stop_a_job_is_an_error_with_what_to_do(
    doctor: Doctor, aws: SageMakerService, name: str
):
    spoil, finding, rule, words = WRONG[name]
    spoil(aws)
    told = doctor.json("sagemaker")
    found = told.of("sagemaker")
    assert told.code == 4
    assert (found[finding]["state"], found[finding]["rule"]) == ("error", rule)
    assert words in found[finding]["found"]
    assert found[finding]["needed"]
    assert found[finding]["fix"] or rule == "role-unknown"


def test_a_bucket_that_is_missing_is_made_by_the_line_to_run(doctor: Doctor, aws: SageMakerService):
    aws.objects.buckets.clear()
    told = doctor("sagemaker")
    line = f"aws s3 mb s3://{aws.bucket} --region us-east-1"
    assert told.out.endswith(f"run next:\n  {line}\n")


def test_a_quota_of_0_for_one_machine_of_several_stops_nobody(
    doctor: Doctor, aws: SageMakerService
):
    aws.account.limit(MACHINES[3], 0)
    told = doctor.json("sagemaker")
    quota = told.of("sagemaker")["quota"]
    assert (told.code, quota["state"]) == (0, "warning")
    assert f"0 {MACHINES[3]}" in quota["found"]
    assert f"1000 {MACHINES[0]}" in quota["found"]


def test_a_caller_who_may_not_send_jobs_is_told(doctor: Doctor, aws: SageMakerService):
    caller = aws.account.add_role("Studio", denied=frozenset({"sagemaker:CreateTrainingJob"}))
    doctor.sees(aws.account.add_session("Studio", "someone").environment)
    told = doctor.json("sagemaker")
    rights = told.of("sagemaker")["your rights"]
    assert caller.name in told.of("sagemaker")["identity"]["found"]
    assert (rights["state"], rights["rule"]) == ("error", "preflight-your-rights")
    assert "sagemaker:CreateTrainingJob" in rights["found"]


@pytest.mark.parametrize(
    ("action", "finding"),
    [
        ("iam:GetRole", "role"),
        ("iam:SimulatePrincipalPolicy", "your rights"),
        ("servicequotas:ListServiceQuotas", "quota"),
        ("s3:ListBucket", "bucket"),
    ],
)
def test_what_the_caller_may_not_ask_is_unknown(
    doctor: Doctor, aws: SageMakerService, action: str, finding: str
):
    aws.account.deny(action)
    told = doctor.json("sagemaker")
    assert (told.code, told.of("sagemaker")[finding]["state"]) == (0, "unknown")


@pytest.mark.parametrize(("hours", "state"), [(1, "error"), (-1, "error"), (0, "ok")])
def test_a_clock_that_is_wrong_is_told(
    doctor: Doctor,
    aws: SageMakerService,
    monkeypatch: pytest.MonkeyPatch,
    hours: int,
    state: str,
):
    clock = SimpleNamespace(time=lambda: time.time() + 3600 * hours)
    monkeypatch.setattr("launchers.sagemaker.service.session.time", clock)
    found = doctor.json("sagemaker").of("sagemaker")["clock"]
    assert (found["state"], found["rule"]) == (state, "clock" if hours else "")


def test_the_clock_is_told_where_the_credentials_are_refused(
    doctor: Doctor, aws: SageMakerService, monkeypatch: pytest.MonkeyPatch
):
    clock = SimpleNamespace(time=lambda: time.time() - 3600)
    monkeypatch.setattr("launchers.sagemaker.service.session.time", clock)
    aws.account.expire()
    found = doctor.json("sagemaker").of("sagemaker")
    assert found["clock"]["run"] == "sudo timedatectl set-ntp true"
    assert (found["identity"]["state"], found["quota"]["state"]) == ("error", "skipped")


def test_without_a_role_the_callers_own_is_taken_or_one_is_asked_for(
    doctor: Doctor, aws: SageMakerService, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("LAUNCH_SAGEMAKER_ROLE")
    told = doctor.json("sagemaker")
    role = told.of("sagemaker")["role"]
    assert (told.code, role["rule"]) == (4, "role-missing")
    assert role["run"].startswith("export LAUNCH_SAGEMAKER_ROLE=arn:aws:iam::")
    assert told.of("sagemaker")["bucket"]["state"] == "ok"
    aws.account.add_role("Notebook")
    doctor.sees(aws.account.add_session("Notebook", "me").environment)
    told = doctor.json("sagemaker")
    assert told.of("sagemaker")["role"]["found"] == "Notebook trusts sagemaker.amazonaws.com"


def test_a_misspelt_region_is_told_with_the_near_one(doctor: Doctor, aws: SageMakerService):
    told = doctor.json("sagemaker", "--region", "us-esat-1")
    region = told.of("sagemaker")["region"]
    assert (region["state"], region["rule"]) == ("warning", "preflight-region")
    assert re.fullmatch(r"did you mean us-(east|west)-1\?", region["fix"])


def closed(doctor: Doctor, aws: SageMakerService) -> Examined:
    """Told while nothing listens."""
    aws.close()
    return doctor.json("sagemaker")


def test_without_a_network_it_says_so_once_and_what_settings_say(
    doctor: Doctor, aws: SageMakerService
):
    told = closed(doctor, aws)
    found = told.of("sagemaker")
    assert told.code == 4
    assert [name for name, one in found.items() if one["state"] == "error"] == ["network"]
    assert found["network"]["rule"] == "cloud-unreachable"
    assert found["identity"]["found"] == "credentials of environment variables: no network"
    assert aws.role_arn in found["role"]["found"]


def test_offline_asks_nobody_and_fails_for_what_is_missing_alone(
    doctor: Doctor, aws: SageMakerService
):
    told = doctor.json("sagemaker", "--offline")
    assert told.code == 0, told.out
    assert told.of("sagemaker")["quota"]["found"] == "not asked: --offline"
    assert not aws.requests


def test_a_profile_that_is_not_there_is_told(
    doctor: Doctor, aws: SageMakerService, monkeypatch: pytest.MonkeyPatch
):
    for name in aws.account.user.environment:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    for words in ((), ("--offline",)):
        told = doctor.json("sagemaker", *words)
        assert told.code == 4
        assert "nobody" in told.of("sagemaker")["identity"]["found"]


def test_every_row_of_the_gates_table_is_held_against_what_is_installed(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
):
    versions = {"boto3": "1.34.0", "botocore": "1.34.0", "sagemaker": "2.100.0"}
    monkeypatch.setattr(table, "installed_version", lambda name: versions.get(name, ""))
    found = {one.name: one for one in table.sdk_findings("sagemaker.request")}
    assert found["boto3"].state == "ok"
    assert (found["botocore"].state, found["botocore"].rule) == ("warning", "sdk-version")
    assert "RemoteDebugConfig (>=1.34.90)" in found["botocore"].found
    assert "TrainingPlanArn" in found["botocore"].found
    assert "InfraCheckConfig" not in found["botocore"].found
    assert "warm_pools (>=2.110.0)" in found["sagemaker"].found
    versions |= {"botocore": "1.20.0", "sagemaker": ""}
    found = {one.name: one for one in table.sdk_findings("sagemaker.request")}
    assert (found["botocore"].state, found["botocore"].exit_code) == ("error", 3)
    assert "pip install" in found["botocore"].run
    assert found["sagemaker"].state == "ok"
    versions["boto3"] = ""
    found = {one.name: one for one in table.sdk_findings("sagemaker.request")}
    assert (found["boto3"].state, found["boto3"].found) == ("error", "not installed")


def test_without_the_sdk_the_exit_code_is_the_gates_and_nothing_is_imported(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(table, "installed_version", lambda name: "")
    monkeypatch.setattr("launchers.sagemaker.doctor.installed_version", lambda name: "")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    told = doctor.json("sagemaker")
    assert told.code == 3
    assert told.of("sagemaker")["botocore"]["rule"] == "sdk-version"
    assert "identity" not in told.of("sagemaker")
