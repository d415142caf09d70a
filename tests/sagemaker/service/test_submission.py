"""`launch sagemaker` against a service on loopback: one job, whatever happens on the way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from launchers.core.cloud.job import Request
from launchers.core.cloud.sending import RetryBudget, send_once
from launchers.core.model.jobs import JobDefinition, JobHandle
from launchers.core.model.problems import LaunchError
from launchers.core.records import nonce
from launchers.core.records.entry import INTENT
from launchers.core.records.ledger import Ledger
from launchers.sagemaker.service.session import Session
from launchers.sagemaker.service.training_job import TrainingJob
from tests.cli.command import Launch
from tests.fakes.faults import (
    ARRIVED,
    HANDLED,
    INTERNAL,
    READ,
    WAYS,
    Drop,
    Refuse,
)
from tests.fakes.job_scenarios import BY_HAND, Scenario
from tests.fakes.sagemaker_service import SageMakerService
from tests.fakes.stamps import nonce_of
from tests.sagemaker.service.submitting import Bench, bench, contents
from tests.selection import storm
from tests.submit_children import Killer
from tests.submitting import children

LISTED = (
    "  placeholder  $.Environment.LAUNCH_NONCE = PLACEHOLDER-NONCE: drawn at submission, one for "
    "each job"
)
QUICK = RetryBudget(first=0.001, longest=0.01, total=60.0)


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


def test_a_job_is_submitted_followed_and_proven(tried: Bench):
    answer = tried.submit()
    assert answer.code == 0, answer.err
    assert "[algo-1/0] launch: proof: world size 8" in answer.out
    assert "succeeded" in answer.err
    assert "billable" in answer.err
    assert "model.tar.gz" in answer.err
    (job,) = tried.aws.jobs
    assert re.search(
        rf"  console  https://console\.aws\.amazon\.com/sagemaker/home\?region=[a-z0-9-]+"
        rf"#/jobs/{job.name}$",
        answer.err,
        re.MULTILINE,
    )


def test_the_body_on_the_wire_is_the_printed_document(tried: Bench):
    printed = tried.submit("--dry-run")
    assert printed.code == 0
    assert [line for line in printed.err.splitlines() if "placeholder" in line] == [LISTED]
    assert tried.submit().code == 0
    (sent,) = tried.aws.received("CreateTrainingJob")
    assert nonce.filled_text(printed.out, nonce_of(json.loads(sent.body))).encode() == sent.body


def test_nothing_is_sent_while_a_placeholder_is_left(tried: Bench):
    words = [word for word in tried.words() if word not in ("--role", tried.aws.role_arn)]
    answer = tried.ask(*words)
    assert answer.code == 2
    assert "--role" in answer.err
    assert not tried.aws.received("CreateTrainingJob")


def test_region_is_an_error_where_nothing_says_it(tried: Bench):
    without = {"AWS_REGION": "", "AWS_DEFAULT_REGION": ""}
    answer = tried.submit(**without)
    assert answer.code == 2
    assert "--region" in answer.err
    assert not tried.aws.requests


def definition_of(aws: SageMakerService, number: int) -> JobDefinition:
    """A small document that the service takes."""
    document = {
        "TrainingJobName": f"dropped-{number}",
        "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
        "RoleArn": aws.role_arn,
        "OutputDataConfig": {"S3OutputPath": f"s3://{aws.bucket}/out"},
        "ResourceConfig": {
            "InstanceType": "ml.g5.12xlarge",
            "InstanceCount": 2,
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        "HyperParameters": {"number": str(number)},
    }
    text = json.dumps(document, indent=1) + "\n"
    return JobDefinition("sagemaker", f"dropped-{number}", 8, text, document)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[SageMakerService, Session]]:
    with SageMakerService() as aws:
        for name, value in aws.environment().items():
            monkeypatch.setenv(name, value)
        aws.account.limit("ml.g5.12xlarge", 10_000)
        aws.jobs.scenario = Scenario(pace=BY_HAND)
        yield aws, Session("us-east-1")


def send(
    aws: SageMakerService, client: Session, definition: JobDefinition, may_be_sent: bool = False
) -> None:
    """See that the job exists, by an intent of now."""
    job = TrainingJob(client, JobHandle("sagemaker", definition.name))
    send_once(job, Request(definition, aws.clock.now()), may_be_sent, budget=QUICK)


@pytest.mark.storm
def test_lost_connections_make_one_job_each(session: tuple[SageMakerService, Session]):
    aws, client = session
    points = [(way, point) for way in WAYS for point in (ARRIVED, READ, HANDLED)]
    jobs = storm(200, small=36)
    for number in range(jobs):
        way, point = points[number % len(points)]
        aws.faults.clear()
        # The next request after the first may be lost, too.
        for operation in ("CreateTrainingJob", "DescribeTrainingJob")[: 1 + number % 2]:
            aws.faults.add(Drop(way), operation, point=point, times=1 + number % 3)
        definition = definition_of(aws, number)
        send(aws, client, definition)
    names = [job.name for job in aws.jobs]
    assert sorted(names) == sorted(f"dropped-{number}" for number in range(jobs))


@pytest.mark.parametrize("point", [READ, HANDLED])
def test_a_500_leaves_a_doubt_that_is_cleared(
    session: tuple[SageMakerService, Session], point: str
):
    aws, client = session
    aws.faults.add(Refuse(INTERNAL), "CreateTrainingJob", point=point, times=3)
    definition = definition_of(aws, 1)
    send(aws, client, definition)
    assert len(aws.jobs) == 1


def test_a_job_that_differs_from_the_intent_is_not_adopted(
    session: tuple[SageMakerService, Session],
):
    aws, client = session
    ours = definition_of(aws, 1)
    other = json.loads(ours.text)
    other["HyperParameters"] = {"number": "another"}
    client.client("sagemaker").create_training_job(**other)
    with pytest.raises(LaunchError, match="the name is taken"):
        send(aws, client, ours, may_be_sent=True)


@pytest.mark.storm
def test_kills_at_every_request_of_a_submission_never_make_two_jobs(tried: Bench):
    tried.aws.jobs.scenario = Scenario(pace=BY_HAND)
    tried.aws.account.limit("ml.g5.12xlarge", 10_000)
    module, where = (
        "tests.sagemaker.service.submit_children",
        (tried.aws.role_arn, tried.aws.bucket),
    )
    with children(module, tried.launch, tried.environment(), *where) as process:
        killer = Killer(process, tried.aws)
        kills = storm(200, small=40)
        # The first one also uploads.
        count, index = [killer.requests(seed) for seed in (-2, -1)][-1], 0
        while killer.ended["killed"] < kills and index < 1.5 * kills:
            killer.submit_and_kill(index, count)
            known = {entry.name for entry in Ledger(tried.launch.home).jobs()}
            assert {job.name for job in tried.aws.jobs} <= known
            assert killer.submit(index) == 0
            index += 1
    assert killer.ended["killed"] == kills
    assert len(tried.aws.jobs) == 2 + index
    entries = Ledger(tried.launch.home).jobs()
    assert {entry.name for entry in entries} == {job.name for job in tried.aws.jobs}
    assert not [entry for entry in entries if entry.state == INTENT]


def test_credentials_reach_no_artefact_of_a_job(tried: Bench, tmp_path: Path):
    identity = tried.aws.account.user
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    answer = tried.submit(TMPDIR=str(scratch))
    assert answer.code == 0
    hidden = [identity.secret_key, *([identity.token] if identity.token else [])]
    artefacts = [answer.out.encode(), answer.err.encode(), *contents(tried.launch.home)]
    artefacts += contents(scratch)
    artefacts += [one.body for one in tried.aws.requests]
    for value in hidden:
        assert not [one for one in artefacts if value.encode() in one]
