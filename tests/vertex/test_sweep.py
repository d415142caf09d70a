"""Many CustomJobs of one launch.yaml."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.cli.command import Launch
from tests.fakes.google_scenarios import VertexScenario
from tests.fakes.google_wire import TOO_MANY_REQUESTS
from tests.fakes.vertex_service import LOCATION
from tests.selection import storm
from tests.vertex.service.submitting import GPUS, Bench, bench, proven_job


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


def arguments_of(document: Mapping[str, Any]) -> list[str]:
    """The words that the script of a job gets."""
    pool = document["jobSpec"]["workerPoolSpecs"][0]
    words: list[str] = json.loads(pool["containerSpec"]["args"][2])
    return words[1:]


@pytest.mark.storm
def test_as_many_jobs_are_made_under_a_service_that_throttles_as_were_asked_for(tried: Bench):
    count = storm(50, small=20)
    tried.google.faults.limit(20, "aiplatform", burst=20, error=TOO_MANY_REQUESTS)
    answer = tried.sweep(
        f"sweep: {{matrix: {{args.seed: {list(range(count))}}}}}\n", "--max-parallel", "16"
    )
    assert answer.code == 0, answer.err
    assert len(tried.google.jobs) == count
    assert len({job.name for job in tried.google.jobs}) == count
    assert len({tuple(arguments_of(job.document)) for job in tried.google.jobs}) == count
    assert answer.out.count("succeeded") == count
    assert "JOB" in answer.out.splitlines()[0]
    assert len(tried.google.received("objects.insert")) <= 16, "one bundle for all of them"
    assert len(tried.google.objects.keys(f"gs://{tried.google.bucket}/launch/code/")) == 1


def test_one_job_that_fails_fails_the_sweep_and_no_other_job(tried: Bench):
    def how(document: Mapping[str, Any]) -> VertexScenario:
        failed = arguments_of(document) == ["--seed", "1"]
        return VertexScenario(outcome="FAILED", reason="it broke") if failed else proven_job()

    tried.google.jobs.scenario = how
    answer = tried.sweep("sweep: {jobs: [{args.seed: 0}, {args.seed: 1}, {args.seed: 2}]}\n")
    assert answer.code == 1
    assert answer.out.count("succeeded") == 2
    assert answer.out.count("it broke") == 1


def test_the_providers_own_keys_may_differ_from_job_to_job(tried: Bench):
    answer = tried.sweep(
        "sweep: {jobs: [{vertex: {reduction_servers: 1}}, {spot: true}, {instances: 1}]}\n"
        .replace("{instances: 1}", "{env.SEED: 1}")
    )  # fmt: skip
    assert answer.code == 0, answer.err
    specs = [job.document["jobSpec"] for job in tried.google.jobs]
    assert sorted(len(spec["workerPoolSpecs"]) for spec in specs) == [2, 2, 3]
    assert [spec["scheduling"].get("strategy") for spec in specs].count("SPOT") == 1


def test_nothing_is_sent_while_one_job_is_wrong(tried: Bench):
    answer = tried.sweep("sweep: {jobs: [{args.seed: 0}, {machine: nothing-standard-1}]}\n")
    assert answer.code == 2
    assert not tried.google.received("customJobs.create")
    assert not tried.google.received("objects.insert")


def test_a_preflight_that_refuses_one_job_sends_no_job_after_it(tried: Bench):
    tried.google.account.quotas[GPUS, LOCATION] = 4
    answer = tried.sweep("sweep: {jobs: [{args.seed: 0}, {args.seed: 1}]}\n")
    assert answer.code != 0
    assert not tried.google.received("customJobs.create")
