"""The fake SageMaker keeps to what the service does with training jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.fakes.aws_clients import client, request_for
from tests.fakes.clock import Clock
from tests.fakes.job_scenarios import BY_HAND, Pace, Scenario
from tests.fakes.sagemaker_service import SageMakerService

START = ["Starting", "Downloading", "Training"]


@pytest.fixture
def aws() -> Iterator[SageMakerService]:
    with SageMakerService() as service:
        yield service


def create(aws: SageMakerService, scenario: Scenario | None = None, **more: Any) -> Any:
    """A job that goes as ``scenario`` says; gives a client."""
    aws.jobs.scenario = scenario or Scenario()
    sagemaker = client(aws, "sagemaker")
    sagemaker.create_training_job(**request_for(aws, **more))
    return sagemaker


def followed(sagemaker: Any, name: str = "job-1") -> list[dict[str, Any]]:
    """Every description of a job until its end."""
    seen = [sagemaker.describe_training_job(TrainingJobName=name)]
    while seen[-1]["TrainingJobStatus"] in ("InProgress", "Stopping"):
        seen.append(sagemaker.describe_training_job(TrainingJobName=name))
    return seen


def passed(description: Mapping[str, Any]) -> list[str]:
    return [one["Status"] for one in description["SecondaryStatusTransitions"]]


@pytest.mark.parametrize(
    ("scenario", "status", "states"),
    [
        (Scenario(), "Completed", [*START, "Uploading", "Completed"]),
        (
            Scenario(pending=True),
            "Completed",
            ["Starting", "Pending", *START, "Uploading", "Completed"],
        ),
        (
            Scenario(outcome="Failed", reason="AlgorithmError: exit code 1"),
            "Failed",
            [*START, "Uploading", "Failed"],
        ),
        (
            Scenario(outcome="Failed", reason="CapacityError: none", never_started=True),
            "Failed",
            ["Starting", "Failed"],
        ),
        (
            Scenario(outcome="MaxRuntimeExceeded"),
            "Stopped",
            [*START, "Stopping", "Uploading", "MaxRuntimeExceeded"],
        ),
        (
            Scenario(outcome="MaxWaitTimeExceeded", never_started=True),
            "Stopped",
            ["Starting", "Stopping", "MaxWaitTimeExceeded"],
        ),
        (
            Scenario(interruptions=1),
            "Completed",
            [*START, "Interrupted", *START, "Uploading", "Completed"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_job_goes_through_its_states_in_order(
    aws: SageMakerService, scenario: Scenario, status: str, states: list[str]
) -> None:
    sagemaker = create(aws, scenario)
    descriptions = followed(sagemaker)

    last = descriptions[-1]
    assert last["TrainingJobStatus"] == status
    assert passed(last) == states
    assert last.get("FailureReason", "") == scenario.reason
    # What was told once is never taken back.
    for earlier in descriptions:
        assert passed(earlier) == states[: len(passed(earlier))]
        assert passed(earlier)[-1] == earlier["SecondaryStatus"]
    times = [one["StartTime"] for one in last["SecondaryStatusTransitions"]]
    assert times == sorted(times)


def test_times_and_seconds_are_those_of_the_clock() -> None:
    clock = Clock(stopped=True)
    with SageMakerService(clock=clock) as aws:
        sagemaker = create(aws, Scenario(pace=Pace(seconds=60), billable=100))
        assert passed(sagemaker.describe_training_job(TrainingJobName="job-1")) == ["Starting"]
        clock.advance(1000)
        told = sagemaker.describe_training_job(TrainingJobName="job-1")

    # Two steps of starting, two of downloading, training, uploading.
    assert (told["TrainingStartTime"] - told["CreationTime"]).total_seconds() == 120
    assert (told["TrainingEndTime"] - told["TrainingStartTime"]).total_seconds() == 240
    assert (told["TrainingTimeInSeconds"], told["BillableTimeInSeconds"]) == (240, 100)


def test_a_job_moves_by_hand(aws: SageMakerService) -> None:
    sagemaker = create(aws, Scenario(pace=BY_HAND))

    aws.jobs.run_to("job-1", "Training")
    for _ in range(3):
        told = sagemaker.describe_training_job(TrainingJobName="job-1")
        assert told["SecondaryStatus"] == "Training"
    assert aws.jobs.step("job-1") == "Uploading"
    with pytest.raises(ValueError, match="ended as Completed"):
        aws.jobs.run_to("job-1", "Failed")


def test_a_completed_job_has_its_model_in_the_bucket(aws: SageMakerService) -> None:
    uri = followed(create(aws))[-1]["ModelArtifacts"]["S3ModelArtifacts"]

    assert uri == f"s3://{aws.bucket}/output/job-1/output/model.tar.gz"
    assert aws.objects.get(uri)


def test_a_stopped_job_stops_and_then_is_stopped(aws: SageMakerService) -> None:
    sagemaker = create(aws, Scenario(paces={"Training": BY_HAND}))
    aws.jobs.run_to("job-1", "Training")

    sagemaker.stop_training_job(TrainingJobName="job-1")

    descriptions = followed(sagemaker)
    assert descriptions[0]["TrainingJobStatus"] == "Stopping"
    assert descriptions[-1]["TrainingJobStatus"] == "Stopped"
    assert passed(descriptions[-1]) == [*START, "Stopping", "Uploading", "Stopped"]


@pytest.mark.parametrize("outcome", ["Completed", "Failed", "Stopped", "MaxRuntimeExceeded"])
def test_a_job_that_has_ended_cannot_be_stopped(aws: SageMakerService, outcome: str) -> None:
    sagemaker = create(aws, Scenario(outcome=outcome))
    status = followed(sagemaker)[-1]["TrainingJobStatus"]

    with pytest.raises(ClientError, match=f"ValidationException.*in status {status}") as error:
        sagemaker.stop_training_job(TrainingJobName="job-1")
    assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


@pytest.mark.parametrize("operation", ["describe_training_job", "stop_training_job"])
def test_a_job_that_does_not_exist_is_a_validation_exception(
    aws: SageMakerService, operation: str
) -> None:
    with pytest.raises(ClientError, match=r"ValidationException.*Requested resource not found"):
        getattr(client(aws, "sagemaker"), operation)(TrainingJobName="nobody")


def test_a_name_is_taken_for_ever_in_its_region_alone(aws: SageMakerService) -> None:
    followed(create(aws))

    with pytest.raises(ClientError, match=r"ResourceInUse.*training-job/job-1") as error:
        create(aws)
    assert error.value.response["Error"]["Code"] == "ResourceInUse"
    aws.objects.add_bucket("elsewhere", "eu-west-1")
    request = request_for(aws)
    aws.objects.put("s3://elsewhere/code/x", b"x")
    source = request["InputDataConfig"][0]["DataSource"]["S3DataSource"]
    source["S3Uri"] = "s3://elsewhere/code/"
    answer = client(aws, "sagemaker", region="eu-west-1").create_training_job(**request)
    assert ":eu-west-1:" in answer["TrainingJobArn"]


@pytest.mark.processes
def test_of_fifty_creations_at_once_one_is_accepted(aws: SageMakerService) -> None:
    request = request_for(aws)

    def attempt(_: int) -> str:
        try:
            client(aws, "sagemaker").create_training_job(**request)
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return "created"

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(attempt, range(50)))

    assert answers.count("created") == 1
    assert answers.count("ResourceInUse") == 49


def test_a_quota_counts_what_runs_and_says_all_numbers(aws: SageMakerService) -> None:
    aws.account.limit("ml.g5.12xlarge", 3)
    sagemaker = create(aws)

    with pytest.raises(
        ClientError,
        match=r"'ml.g5.12xlarge for training job usage' is 3 Instances, with current "
        r"utilization of 2 Instances and a request delta of 2 Instances",
    ) as error:
        create(aws, name="job-2")
    assert error.value.response["Error"]["Code"] == "ResourceLimitExceeded"
    followed(sagemaker)
    create(aws, name="job-2")


def test_jobs_are_listed_in_pages_newest_first(aws: SageMakerService) -> None:
    for number in range(25):
        create(aws, name=f"{'even' if number % 2 == 0 else 'odd'}-{number}")
    pages = client(aws, "sagemaker").get_paginator("list_training_jobs")

    listed = [
        job["TrainingJobName"]
        for page in pages.paginate(NameContains="EVEN", PaginationConfig={"PageSize": 5})
        for job in page["TrainingJobSummaries"]
    ]

    assert listed == [f"even-{number}" for number in range(24, -1, -2)]


def test_tags_are_those_of_the_request_and_those_added(aws: SageMakerService) -> None:
    sagemaker = create(aws, Tags=[{"Key": "team", "Value": "vision"}])
    arn = aws.jobs.get("job-1").arn

    sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": "run", "Value": "2"}])

    tags = sagemaker.list_tags(ResourceArn=arn)["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"team": "vision", "run": "2"}


def test_the_creator_is_told_by_cloudtrail_alone_and_late() -> None:
    clock = Clock(stopped=True)
    with SageMakerService(clock=clock) as aws:
        sagemaker = create(aws)
        create(aws, name="job-2")
        told = sagemaker.describe_training_job(TrainingJobName="job-1")
        assert aws.account.user.arn not in str(told)
        attribute = {"AttributeKey": "ResourceName", "AttributeValue": "job-1"}
        trail = client(aws, "cloudtrail")
        assert trail.lookup_events(LookupAttributes=[attribute])["Events"] == []
        clock.advance(aws.trail.delay)
        (event,) = trail.lookup_events(LookupAttributes=[attribute])["Events"]

    assert (event["EventName"], event["Username"]) == ("CreateTrainingJob", "launcher")
