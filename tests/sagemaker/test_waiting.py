"""Flags and log places of SageMaker's jobs that somebody waits for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from launchers.sagemaker.service.log_streams import LogStreams
from launchers.sagemaker.service.session import Session
from tests.cli.command import Launch
from tests.fakes.faults import Refuse
from tests.fakes.job_scenarios import BY_HAND, Scenario
from tests.fakes.wire import ServiceError
from tests.sagemaker.service.submitting import Bench, bench


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


def test_parallel_jobs_of_no_sweep_are_an_error(tried: Bench):
    answer = tried.submit("--max-parallel", "2")
    assert answer.code == 2
    assert "sweep" in answer.err
    assert not len(tried.aws.jobs)


def test_a_place_in_the_log_that_was_forgotten_is_found_again(
    tried: Bench, monkeypatch: pytest.MonkeyPatch
):
    """A token of GetLogEvents lasts 24 hours."""
    for name, value in tried.environment().items():
        monkeypatch.setenv(name, value)
    lines = [f"line {index}" for index in range(25)]
    tried.aws.jobs.scenario = Scenario(lines={"algo-1": lines}, paces={"Training": BY_HAND})
    assert tried.submit("--detach").code == 0
    (job,) = tried.aws.jobs
    tried.aws.jobs.run_to(job.name, "Training")
    tried.aws.logs.page_events = 10
    forgotten = ServiceError("InvalidParameterException", "The specified nextToken is invalid.")
    tried.aws.faults.add(Refuse(forgotten), "GetLogEvents", after=2, times=1)
    streams = LogStreams(Session("us-east-1"), job.name)
    assert [line.text for line in streams.round()] == lines
    tried.aws.faults.add(Refuse(forgotten), "GetLogEvents", times=1)
    assert not list(streams.round())
