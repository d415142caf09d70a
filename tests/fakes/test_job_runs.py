"""Jobs of the fake SageMaker that run for real have their own lines and their own end."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pytest

from tests.fakes.aws_clients import client, request_for
from tests.fakes.job_runs import runner_of
from tests.fakes.job_scenarios import Runner, Scenario, Verdict
from tests.fakes.sagemaker_service import SageMakerService
from tests.waiting import until


@pytest.fixture
def aws() -> Iterator[SageMakerService]:
    with SageMakerService() as service:
        yield service


def run(aws: SageMakerService, runner: Any) -> Any:
    """A job that the runner runs; gives a client."""
    aws.jobs.scenario = Scenario(runner=runner)
    sagemaker = client(aws, "sagemaker")
    sagemaker.create_training_job(**request_for(aws))
    return sagemaker


def ended(sagemaker: Any) -> dict[str, Any]:
    """The description of the job once it has ended."""
    told: dict[str, Any] = {}

    def asked() -> bool:
        told.update(sagemaker.describe_training_job(TrainingJobName="job-1"))
        return told["TrainingJobStatus"] not in ("InProgress", "Stopping")

    until(asked)
    return told


def says_hello(document: Mapping[str, Any], stop: threading.Event) -> Generator[Any, None, Verdict]:
    for host in ("algo-1", "algo-2"):
        yield host, f"hello from {document['TrainingJobName']}"
    return Verdict("Failed", "AlgorithmError: exit code 3")


def tells_hello(document: Mapping[str, Any], stop: threading.Event, line: Any) -> Verdict:
    for host, text in says_hello(document, stop):
        line(host, text)
    return Verdict("Failed", "AlgorithmError: exit code 3")


@pytest.mark.parametrize("runner", [says_hello, runner_of(tells_hello)], ids=["yields", "calls"])
def test_a_job_that_runs_for_real_has_its_own_lines_and_end(
    aws: SageMakerService, runner: Runner
) -> None:
    told = ended(run(aws, runner))

    assert told["TrainingJobStatus"] == "Failed"
    assert told["FailureReason"] == "AlgorithmError: exit code 3"
    events = client(aws, "logs").filter_log_events(logGroupName="/aws/sagemaker/TrainingJobs")
    said = {(one["logStreamName"].split("/")[1][:6], one["message"]) for one in events["events"]}
    assert said == {("algo-1", "hello from job-1"), ("algo-2", "hello from job-1")}


def test_a_job_that_runs_for_real_is_told_to_stop(aws: SageMakerService) -> None:
    def waits(_: object, stop: threading.Event) -> Generator[Any, None, Verdict]:
        yield "algo-1", "running"
        stop.wait()
        return Verdict("Failed", "killed")

    sagemaker = run(aws, waits)
    sagemaker.stop_training_job(TrainingJobName="job-1")

    told = ended(sagemaker)
    assert told["TrainingJobStatus"] == "Stopped"
    assert "FailureReason" not in told


def test_a_runner_that_breaks_fails_its_job(aws: SageMakerService) -> None:
    def breaks(_: object, __: object) -> Generator[Any, None, Verdict]:
        yield "algo-1", "so far"
        raise OSError("no engine")

    assert "no engine" in ended(run(aws, breaks))["FailureReason"]
