"""What would stop a job is said before anything is sent, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

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
    "expired credentials": (lambda aws: aws.account.expire(), "AWS credentials"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_sends_nothing_and_says_what_to_do(tried: Bench, name: str):
    spoil, words = REFUSED[name]
    spoil(tried.aws)
    answer = tried.submit()
    assert answer.code == 4, answer.err
    assert words in answer.err or "valid now" in answer.err
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
