"""Many CustomJobs of one launch.yaml."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.command import Launch
from tests.fakes.vertex_service import LOCATION
from tests.vertex.service.submitting import GPUS, Bench, bench


@pytest.fixture
def tried(launch: Launch) -> Iterator[Bench]:
    yield from bench(launch)


def test_the_providers_own_keys_may_differ_from_job_to_job(tried: Bench):
    answer = tried.sweep(
        "sweep: {jobs: [{vertex: {reduction_servers: 1}}, {spot: true}, {instances: 1}]}\n"
        .replace("{instances: 1}", "{env.SEED: 1}")
    )  # fmt: skip
    assert answer.code == 0, answer.err
    specs = [job.document["jobSpec"] for job in tried.google.jobs]
    assert sorted(len(spec["workerPoolSpecs"]) for spec in specs) == [2, 2, 3]
    assert [spec["scheduling"].get("strategy") for spec in specs].count("SPOT") == 1


def test_a_preflight_that_refuses_one_job_sends_no_job_after_it(tried: Bench):
    tried.google.account.quotas[GPUS, LOCATION] = 4
    answer = tried.sweep("sweep: {jobs: [{args.seed: 0}, {args.seed: 1}]}\n")
    assert answer.code != 0
    assert not tried.google.received("customJobs.create")
