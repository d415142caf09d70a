"""Many jobs of one launch.yaml."""

from __future__ import annotations

import pytest

from tests.selection import storm
from tests.submitting import AnyBench


class Sweeps:
    """All of them are checked first, and none disturbs another."""

    @pytest.mark.storm
    def test_as_many_jobs_are_made_under_a_service_that_throttles_as_were_asked_for(
        self, tried: AnyBench
    ):
        count = storm(50, small=20)
        tried.limit_requests()
        answer = tried.sweep(
            f"sweep: {{matrix: {{args.seed: {list(range(count))}}}}}\n", "--max-parallel", "16"
        )
        assert answer.code == 0, answer.err
        assert len(tried.jobs) == count
        assert len({job.name for job in tried.jobs}) == count
        assert len({tried.seed_of(job.document) for job in tried.jobs}) == count
        assert answer.out.count("succeeded") == count
        assert "JOB" in answer.out.splitlines()[0]
        tried.check_the_bundles_of_a_sweep()

    def test_one_job_that_fails_fails_the_sweep_and_no_other_job(self, tried: AnyBench):
        tried.fail("it broke", seed="1")
        answer = tried.sweep("sweep: {jobs: [{args.seed: 0}, {args.seed: 1}, {args.seed: 2}]}\n")
        assert answer.code == 1
        assert answer.out.count("succeeded") == 2
        assert answer.out.count("it broke") == 1

    def test_nothing_is_sent_while_one_job_is_wrong(self, tried: AnyBench):
        answer = tried.sweep(
            f"sweep: {{jobs: [{{args.seed: 0}}, {{machine: {tried.NO_MACHINE}}}]}}\n"
        )
        assert answer.code == 2
        assert not tried.service.received(tried.CREATE)
        assert not tried.service.received(tried.STORE)
