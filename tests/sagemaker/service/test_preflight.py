"""What would stop a job is said before anything is sent, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from launchers.sagemaker.service.preflight import preflight
from launchers.sagemaker.service.session import Session
from tests.cli.command import Launch
from tests.fakes.faults import INTERNAL, Refuse
from tests.fakes.sagemaker_service import SageMakerService
from tests.sagemaker.service.submitting import Bench, bench


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


def no_trust(aws: SageMakerService) -> None:
    aws.account.add_role("TrainingRole", trusts=("ec2.amazonaws.com",))


def denied_right(aws: SageMakerService) -> None:
    aws.account.add_role("TrainingRole", denied=frozenset({"s3:PutObject"}))


REFUSED: dict[str, tuple[Callable[[SageMakerService], object], str]] = {
    "a role that is not there": (lambda aws: aws.account.roles.clear(), "does not exist"),
    "a role that SageMaker may not take on": (no_trust, "does not trust sagemaker"),
    "a right that is denied": (denied_right, "s3:PutObject"),
    "a quota below the instances": (
        lambda aws: aws.account.limit("ml.g5.12xlarge", 1),
        "--instances 1",
    ),
    "no quota": (lambda aws: aws.account.limit("ml.g5.12xlarge", 0), "another --machine"),
    "a bucket that is not there": (lambda aws: aws.objects.buckets.clear(), "aws s3 mb s3://"),
    "expired credentials": (lambda aws: aws.account.expire(), "[cloud-credentials]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_sends_nothing_and_says_what_to_do(tried: Bench, name: str):
    spoil, words = REFUSED[name]
    spoil(tried.aws)
    answer = tried.submit()
    assert answer.code == 4, answer.err
    assert words in answer.err
    assert not tried.aws.received("CreateTrainingJob")
    assert not tried.aws.received("PutObject")


@pytest.mark.parametrize(
    "action",
    [
        "iam:GetRole",
        "iam:SimulatePrincipalPolicy",
        "servicequotas:ListServiceQuotas",
        "s3:ListBucket",
    ],
)
def test_what_the_caller_may_not_ask_is_unknown_and_stops_nothing(tried: Bench, action: str):
    tried.aws.account.deny(action)
    answer = tried.submit()
    assert answer.code == 0, answer.err
    assert "unknown" in answer.err


def test_a_service_that_fails_is_unknown(tried: Bench):
    tried.aws.faults.add(Refuse(INTERNAL), "servicequotas")
    answer = tried.submit()
    assert answer.code == 0, answer.err
    assert "unknown" in answer.err


def test_all_answers_stand_in_one_table(tried: Bench):
    tried.aws.account.limit("ml.g5.12xlarge", 0)
    tried.aws.account.roles.clear()
    answer = tried.submit()
    assert answer.code == 4
    table = answer.err.partition("preflight\n")[2]
    assert [line.split()[0] for line in table.splitlines()[:3]] == ["identity", "role", "role's"]
    assert table.count("refused") == 2


def test_role_and_bucket_come_from_the_callers_own_account(tried: Bench):
    aws = tried.aws
    bucket = aws.objects.add_bucket(f"sagemaker-us-east-1-{aws.account.id}").name
    aws.account.add_role("Studio", path="/service-role/")
    identity = aws.account.add_session("Studio", "someone")
    words = ("sagemaker", "train.py", "--instances", "2", "--gpus", "4")
    answer = tried.launch(*words, **{**tried.environment(), **identity.environment})
    assert answer.code == 0, answer.err
    (job,) = aws.jobs
    assert job.document["RoleArn"].endswith("role/service-role/Studio")
    assert bucket in job.document["OutputDataConfig"]["S3OutputPath"]
    assert "the caller's own role" in answer.err
    assert "the account's default" in answer.err


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[SageMakerService]:
    """The service, which this process's own preflight asks, with two networks and some keys."""
    with SageMakerService() as service:
        for name, value in service.environment().items():
            monkeypatch.setenv(name, value)
        for vpc in ("vpc-1", "vpc-2"):
            service.account.subnets[f"subnet-of-{vpc}"] = (vpc, "us-east-1a")
            service.account.security_groups[f"sg-of-{vpc}"] = vpc
        service.account.keys.update(good="Enabled", off="Disabled")
        yield service


def answers(document: dict[str, Any], rule: str) -> list[tuple[str, str, str]]:
    """Severity, what was found and what is needed: the answers of a rule about a request."""
    told = preflight(Session("us-east-1"), document)
    return [(one.severity, one.found, one.expected) for one in told if one.rule == rule]


@pytest.mark.parametrize(
    ("subnet", "group", "severity", "found"),
    [
        ("subnet-of-vpc-1", "sg-of-vpc-1", "ok", "1 subnet in vpc-1"),
        ("subnet-of-vpc-1", "sg-of-vpc-2", "error", "security groups of vpc-1, vpc-2"),
        ("subnet-of-none", "sg-of-vpc-1", "error", "subnet-of-none"),
        ("subnet-of-vpc-1", "sg-of-none", "error", "sg-of-none"),
    ],
)
def test_subnets_and_security_groups_must_be_there_and_of_one_network(
    aws: SageMakerService, subnet: str, group: str, severity: str, found: str
):
    document = {"VpcConfig": {"Subnets": [subnet], "SecurityGroupIds": [group]}}
    (told,) = answers(document, "preflight-network")
    assert told[0] == severity
    assert found in told[1]


def test_a_network_that_the_caller_may_not_look_at_is_unknown(aws: SageMakerService):
    aws.account.deny("ec2:DescribeSubnets")
    document = {"VpcConfig": {"Subnets": ["subnet-of-vpc-1"], "SecurityGroupIds": ["sg-of-vpc-1"]}}
    assert [one[0] for one in answers(document, "preflight-network")] == ["unknown"]


def test_every_key_of_a_job_must_be_there_and_enabled(aws: SageMakerService):
    def told(model: str, disks: str) -> list[tuple[str, str, str]]:
        keys = {
            "OutputDataConfig": {"KmsKeyId": model},
            "ResourceConfig": {"VolumeKmsKeyId": disks},
        }
        return answers(keys, "preflight-keys")

    assert told("good", "good") == [("ok", "good is enabled", "")]
    assert told("good", "off") == [
        ("ok", "good is enabled", ""),
        ("error", "off is Disabled", "Enabled"),
    ]
    (missing,) = told("none", "none")
    assert "key/none' does not exist" in missing[1]
    assert (missing[0], missing[2]) == ("error", "a key that exists")


SECRET = "arn:aws:secretsmanager:us-east-1:111122223333:secret:team/key-AbCdEf"
PARAMETER = "arn:aws:ssm:us-east-1:111122223333:parameter/team/key"


@pytest.mark.parametrize(
    ("reference", "action", "resource"),
    [
        (SECRET, "secretsmanager:GetSecretValue", SECRET),
        (f"{SECRET}:field", "secretsmanager:GetSecretValue", SECRET),
        (PARAMETER, "ssm:GetParameter", PARAMETER),
    ],
)
def test_the_role_is_asked_whether_it_may_read_the_secrets(
    tried: Bench, reference: str, action: str, resource: str
):
    tried.aws.account.add_role("TrainingRole", denied=frozenset({action}))
    answer = tried.submit("--secret", f"KEY={reference}")
    assert answer.code == 4
    assert f"{action} on {resource} is not allowed" in answer.err


def test_the_plan_says_where_role_bucket_and_region_came_from(tried: Bench):
    aws = tried.aws
    tried.launch.write(
        "launch.yaml",
        "script: train.py\ninstances: 2\ngpus: 4\nregion: us-east-1\n"
        f"bucket: {aws.bucket}\nsagemaker: {{role: {aws.role_arn}}}\n",
    )
    rows = tried.ask("sagemaker", "--dry-run").err
    for name in ("region", "role", "bucket"):
        (row,) = [line for line in rows.splitlines() if line.startswith(f"  {name} ")]
        assert row.endswith("(launch.yaml)"), row
    flags = tried.ask("sagemaker", "--dry-run", "--role", aws.role_arn, "--region", "us-east-1").err
    assert f"{aws.role_arn}  (--role)" in flags
    assert "us-east-1  (--region)" in flags
    variables = {"LAUNCH_SAGEMAKER_ROLE": aws.role_arn, "LAUNCH_SAGEMAKER_BUCKET": aws.bucket}
    words = ("sagemaker", "train.py", "--no-file", "--instances", "2", "--gpus", "4", "--dry-run")
    told = tried.ask(*words, **variables).err
    assert "(LAUNCH_SAGEMAKER_ROLE)" in told
    assert "(LAUNCH_SAGEMAKER_BUCKET)" in told
    assert "us-east-1  (AWS_REGION)" in told
    tried.launch.write("config", "[profile work]\nregion = eu-west-1\n")
    profile = {"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "work"}
    told = tried.ask(*words, **profile, AWS_CONFIG_FILE="config").err
    assert "eu-west-1  (profile file)" in told
    # As for botocore, the credentials file goes first.
    tried.launch.write("credentials", "[work]\nregion = eu-west-2\n")
    files = {"AWS_CONFIG_FILE": "config", "AWS_SHARED_CREDENTIALS_FILE": "credentials"}
    assert "eu-west-2  (profile file)" in tried.ask(*words, **profile, **files).err


def test_an_image_that_lies_outside_of_the_registry_is_never_sent(tried: Bench):
    answer = tried.submit("--image", "launch-horovod:1")
    assert answer.code == 4, answer.err
    assert "launch-horovod:1 lies elsewhere" in answer.err
    assert not tried.aws.received("CreateTrainingJob")


@pytest.mark.parametrize("repository", ["there", "none"])
def test_an_image_that_was_never_pushed_is_told_with_the_line_that_pushes_it(
    tried: Bench, repository: str
):
    account = tried.aws.account
    account.images[account.id, "there"] = {"1": f"sha256:{'a' * 64}"}
    image = f"{account.id}.dkr.ecr.us-east-1.amazonaws.com/{repository}"
    answer = tried.submit("--image", f"{image}:2")
    assert answer.code == 4, answer.err
    told = " ".join(answer.err.split())
    assert f"push it, or ours: launch image build [--with STRATEGY] --push {image}:2" in told
    made = f"aws ecr create-repository --repository-name {repository}"
    assert (made in told) is (repository == "none")
    assert not tried.aws.received("CreateTrainingJob")
    if repository == "there":
        assert tried.submit("--image", f"{image}:1").code == 0
