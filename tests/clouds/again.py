"""The same command again, and requests that a service refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchers.core.records.ledger import Ledger
from tests.cli.command import Launch
from tests.fakes.faults import Call
from tests.submitting import SCRIPT, AnyBench, contents


class TheSameCommandAgain:
    """Follows, shows, or takes the next number."""

    def test_follows_a_job_that_runs(self, tried: AnyBench):
        tried.hold()
        assert tried.submit("--detach").code == 0
        (job,) = tried.jobs
        tried.run(job.name)
        end = Call(lambda _: tried.finish(job.name))
        tried.service.faults.add(end, tried.READ_LINES, times=1, after=1)
        answer = tried.submit()
        assert answer.code == 0, answer.err
        assert "is in progress" in answer.err
        assert len(tried.jobs) == 1

    def test_shows_a_job_that_has_succeeded(self, tried: AnyBench):
        assert tried.submit().code == 0
        answer = tried.submit()
        assert answer.code == 0
        assert "--again" in answer.err
        assert "succeeded" in answer.err
        assert len(tried.jobs) == 1

    def test_takes_the_next_number_after_a_failure_and_keeps_its_checkpoints(self, tried: AnyBench):
        tried.fail("it broke")
        assert tried.submit().code == 1
        tried.let_go()
        answer = tried.submit()
        assert answer.code == 0
        assert "run 1 is failed: it broke" in answer.err
        first, second = tried.jobs
        for job in (first, second):
            assert tried.has_checkpoints_of(job, first.name)

    def test_says_what_makes_it_another_job(self, tried: AnyBench):
        assert tried.submit("--detach").code == 0
        tried.launch.write("train.py", SCRIPT + "print('edited')\n")
        answer = tried.submit("--dry-run")
        assert answer.code == 0, answer.err
        first, second, third = answer.err[answer.err.index("  differs ") :].splitlines()[:3]
        assert first.endswith("-1, the last job of this command")
        assert second.split() == ["changed:", "train.py"]
        assert not third.startswith("   ")

    def test_is_an_error_for_a_second_person(self, tried: AnyBench, tmp_path: Path):
        assert tried.submit().code == 0
        (tmp_path / "other").mkdir()
        other = Launch(tmp_path / "other", tried.launch.folder)
        (job,) = tried.jobs
        for _ in range(2):
            answer = other(*tried.words(), **tried.environment())
            assert answer.code == 5
            assert "the name is taken: created 20" in answer.err
            assert f"launch logs {tried.word_for(job)}" in answer.err
            assert "--again" in answer.err
        assert len(tried.jobs) == 1
        assert other(*tried.words("--again"), **tried.environment()).code == 0
        assert [job.name[-2:] for job in tried.jobs] == ["-1", "-2"]


class Refusals:
    """A request that the service or the launcher refuses."""

    def test_a_quota_that_the_service_enforces_is_a_refusal(self, tried: AnyBench):
        tried.service.faults.add(Call(lambda _: tried.shrink_quota()), tried.LOOK, times=1)
        answer = tried.submit()
        assert answer.code == 5
        assert tried.QUOTA in answer.err
        assert "Quotas" in answer.err
        assert len(tried.service.received(tried.CREATE)) == 1
        (entry,) = Ledger(tried.launch.home).jobs()
        assert entry.state == "failed"

    def test_a_service_that_throttles_gets_one_job(self, tried: AnyBench):
        tried.throttle()
        answer = tried.submit()
        assert answer.code == 0, answer.err
        assert len(tried.jobs) == 1

    @pytest.mark.parametrize(
        "words",
        [
            ("--env", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKE"),
            ("--env", "GOOGLE_API_KEY=AIzaSyA1bC2dE3fG4hI5jK6lM7nO8pQ9rS0tU1v"),
            ("--secret", "TOKEN=hunter2-is-the-value"),
            ("--", "--password", "correct-horse-battery"),
        ],
    )
    def test_a_credential_in_the_request_is_refused_and_never_shown(
        self, tried: AnyBench, words: tuple[str, ...]
    ):
        answer = tried.submit(*words)
        assert answer.code == 2
        value = words[-1].partition("=")[2] or words[-1]
        everything = [answer.out.encode(), answer.err.encode(), *contents(tried.launch.home)]
        assert not [one for one in everything if value.encode() in one]
        assert not tried.service.received(tried.CREATE)
