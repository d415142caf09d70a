"""Answers that are none: cut, a refusal that is the caller's fault, or that must not be shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from launchers.core.records.ledger import Ledger
from launchers.sagemaker.service.errors import AWS_ERRORS, message_of
from launchers.sagemaker.service.session import Session
from launchers.sagemaker.service.states import reason_of
from tests.cli.command import Launch
from tests.fakes.faults import HALF_BODY, HALF_BODY_RESET, HANDLED, Drop, Refuse
from tests.fakes.job_scenarios import Scenario
from tests.fakes.log_lines import Generated
from tests.fakes.sagemaker_service import SageMakerService
from tests.fakes.wire import ServiceError
from tests.sagemaker.service.submitting import PROOF, Bench, bench, contents

pytestmark = pytest.mark.processes

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[SageMakerService]:
    with SageMakerService() as aws:
        for name, value in aws.environment().items():
            monkeypatch.setenv(name, value)
        yield aws


CALLS: dict[str, tuple[str, Callable[[Session], object]]] = {
    "json": ("sagemaker", lambda one: one.describe_training_job(TrainingJobName="none")),
    "json 1.1": (
        "logs",
        lambda one: one.describe_log_streams(logGroupName="/aws/sagemaker/TrainingJobs"),
    ),
    "xml": ("sts", lambda one: one.get_caller_identity()),
    "many pages": ("service-quotas", lambda one: one.list_service_quotas(ServiceCode="sagemaker")),
}


@pytest.mark.parametrize("protocol", CALLS)
@pytest.mark.parametrize("way", [HALF_BODY, HALF_BODY_RESET])
def test_an_answer_that_was_cut_is_no_answer(service: SageMakerService, protocol: str, way: str):
    name, call = CALLS[protocol]
    service.faults.add(Drop(way), point=HANDLED)
    with pytest.raises(AWS_ERRORS) as raised:
        call(Session("us-east-1").client(name, attempts=1))
    assert Session("us-east-1").is_passing(raised.value), message_of(raised.value)
    assert not Session("us-east-1").is_expired(raised.value)


@pytest.mark.parametrize("way", [HALF_BODY, HALF_BODY_RESET])
def test_cut_answers_change_nothing_for_a_submission_that_is_followed(tried: Bench, way: str):
    lines = {
        "algo-1": [PROOF, *(f"line {index}" for index in range(500))],
        "algo-2": Generated(500, lambda index: (index, f"other {index}")),
    }
    tried.aws.jobs.scenario = Scenario(lines=lines)
    for name in ("CreateTrainingJob", "PutObject", "HeadBucket", "GetRole"):
        tried.aws.faults.add(Drop(way), name, point=HANDLED, times=1)
    for name in ("DescribeTrainingJob", "logs"):
        tried.aws.faults.add(Drop(way), name, point=HANDLED, every=3)
    answer = tried.submit()
    assert answer.code == 0, answer.err
    assert len(tried.aws.jobs) == 1
    said = answer.out.splitlines()
    assert [line for line in said if "] line " in line] == [
        f"[algo-1] line {index}" for index in range(500)
    ]
    assert [line for line in said if "] other " in line] == [
        f"[algo-2] other {index}" for index in range(500)
    ]


def test_cut_answers_about_the_caller_are_asked_for_again(tried: Bench):
    tried.aws.objects.add_bucket(f"sagemaker-us-east-1-{tried.aws.account.id}")
    tried.aws.faults.add(Drop(HALF_BODY), "GetCallerIdentity", point=HANDLED, times=1)
    words = [word for word in tried.words() if word not in ("--bucket", tried.aws.bucket)]
    answer = tried.ask(*words)
    assert answer.code == 0, answer.err


NO_CREDENTIALS = {
    "a profile that is not there": {"AWS_PROFILE": "nobody"},
    "a wrong secret key": {"AWS_SECRET_ACCESS_KEY": "another"},
    "a key that is not there": {"AWS_ACCESS_KEY_ID": "AKIAXXXXXXXXXXXXXXXX"},
    "half of a key": {"AWS_SECRET_ACCESS_KEY": ""},
    "a login that is not there": {"AWS_CONFIG_FILE": "config", "AWS_PROFILE": "sso"},
}


@pytest.mark.parametrize("name", NO_CREDENTIALS)
def test_credentials_that_cannot_work_stop_the_job_before_the_ledger(tried: Bench, name: str):
    tried.launch.write(
        "config",
        "[profile sso]\nsso_start_url = https://example.com\nsso_region = us-east-1\n"
        "sso_account_id = 111122223333\nsso_role_name = Nobody\n",
    )
    changes = dict(NO_CREDENTIALS[name])
    if "AWS_CONFIG_FILE" in changes:
        changes |= {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    answer = tried.submit(**changes)
    assert answer.code == 4, answer.err
    assert "valid credentials" in answer.err
    assert "defect" not in answer.err
    assert not Ledger(tried.launch.home).jobs()
    assert not tried.aws.received("PutObject")


def test_a_service_that_cannot_be_reached_is_not_the_buckets_fault(tried: Bench):
    answer = tried.submit(AWS_ENDPOINT_URL="http://127.0.0.1:1", AWS_MAX_ATTEMPTS="1")
    assert answer.code == 5
    assert "Could not connect to the endpoint" in answer.err
    assert "check --bucket" not in answer.err


def test_a_region_that_looks_misspelt_is_shown_before_anything_is_sent(tried: Bench):
    image = f"{tried.aws.account.id}.dkr.ecr.us-esat-1.amazonaws.com/mine:1"
    answer = tried.submit("--region", "us-esat-1", "--image", image)
    assert answer.code == 4
    (line,) = [line for line in answer.err.splitlines() if line.startswith("  region         ")]
    assert "unknown" in line
    assert "did you mean us-" in line
    assert "[preflight-region]" in answer.err


def test_an_environment_that_the_service_quotes_is_not_shown(tried: Bench):
    """The service quotes the whole map where one of its values is wrong."""
    text = (
        "2 validation errors detected: Value '{TOKEN=" + TOKEN + ", B=it's at 'x'}' at "
        "'environment' failed to satisfy constraint: Map value must satisfy constraint: [Member "
        "must have length less than or equal to 512]; Value '{a=" + TOKEN + "}' at "
        "'hyperParameters' failed to satisfy constraint: Map value must satisfy constraint: []"
    )
    refused = Refuse(ServiceError("ValidationException", text, 400))
    tried.aws.faults.add(refused, "CreateTrainingJob")
    answer = tried.submit()
    assert answer.code == 5
    assert "ValidationException" in answer.err
    assert "'hyperParameters' failed to satisfy constraint" in answer.err
    everything = [answer.out.encode(), answer.err.encode(), *contents(tried.launch.home)]
    assert not [one for one in everything if TOKEN.encode() in one]


def test_a_credential_in_a_tag_is_refused_and_never_shown(tried: Bench):
    answer = tried.submit("--tag", f"token={TOKEN}")
    assert answer.code == 2
    assert "$.Tags.token: looks like a GitHub token" in answer.err
    everything = [answer.out.encode(), answer.err.encode(), *contents(tried.launch.home)]
    assert not [one for one in everything if TOKEN.encode() in one]
    assert not tried.aws.received("CreateTrainingJob")


@pytest.mark.parametrize(
    "words",
    [
        ("--env", f"BUILD={TOKEN}", "--allow-value", "BUILD"),
        ("--tag", f"build={TOKEN}", "--allow-value", "build"),
        ("--allow-value", "build", "--", "--build", TOKEN),
    ],
)
def test_a_value_that_is_no_credential_passes_by_its_name(tried: Bench, words: tuple[str, ...]):
    answer = tried.submit(*words)
    assert answer.code == 0, answer.err
    (sent,) = tried.aws.received("CreateTrainingJob")
    assert TOKEN.encode() in sent.body
    # The plan shows names alone of variables, and masks what has a credential's form.
    assert TOKEN not in answer.err


def test_a_failure_of_the_toolkit_is_told_without_its_command_line():
    """FailureReason of a job whose rank ended with 1, as sagemaker-training 5.1.4 writes it."""
    told = (
        'AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nErrorMessage ""\n'
        'Command "mpirun --host algo-1,algo-2 -np 2 --allow-run-as-root -x SM_INSTANCE_GROUPS_'
    )
    found = {"TrainingJobStatus": "Failed", "FailureReason": told}
    assert reason_of(found) == "AlgorithmError: ExecuteUserScriptError: ExitCode 1"
