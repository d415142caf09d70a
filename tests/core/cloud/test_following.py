"""A job's lines to its end, and its state at any time."""

from __future__ import annotations

import json

import pytest

from launchers.core.cloud.job import CLOCK_SECONDS
from launchers.core.model.jobs import FAILED, LOST, SUCCEEDED, LogLine
from launchers.core.model.problems import (
    CredentialsError,
    LaunchError,
    LogsUnreadableError,
    PassingError,
)
from launchers.core.output.lines import JobWatch
from launchers.core.records.entry import INTENT
from tests.core.cloud.conftest import Here
from tests.core.cloud.memory import DENIED, EXPIRED, PASSING, PROOF, StoredJob


def texts(here: Here, follow: bool = True, watch: JobWatch | None = None) -> list[str]:
    """The lines that are given."""
    return [line.text for line in here.service.logs(here.handle, follow=follow, watch=watch)]


def test_each_line_is_given_once_until_the_job_has_ended(here: Here):
    job = here.running("one")
    given = []
    for line in here.service.logs(here.handle, follow=True):
        given.append(line.text)
        if line.text == "one":
            job.end(SUCCEEDED, here.clock.now, PROOF, "two")
    assert given == ["one", PROOF, "two"]
    assert here.told == ["Memory Jobs: it is running", "Memory Jobs: it is succeeded"]
    assert here.entry.proof == "world size 2: 2 hosts x 1 rank, Gloo"


def test_without_following_what_is_there_is_given(here: Here):
    here.running("one")
    assert texts(here, follow=False) == ["one"]
    assert here.told == []
    assert here.clock.slept == []


def test_a_proof_that_is_late_is_waited_for(here: Here):
    job = here.running("one")
    job.end(SUCCEEDED, here.clock.now)
    rounds = here.cloud.calls
    original = here.clock.sleep

    def sleep(seconds: float) -> None:
        original(seconds)
        if rounds.count("lines") == 5:
            job.lines.append(LogLine(here.clock.now, "host-1", 0, PROOF))

    here.clock.sleep = sleep  # type: ignore[method-assign]
    assert texts(here) == ["one", PROOF]


def test_a_proof_that_never_comes_is_not_waited_for_longer_than_the_log_takes(here: Here):
    here.running().end(SUCCEEDED, here.clock.now, "one")
    assert texts(here) == ["one"]
    assert 30 < sum(here.clock.slept) < 40


def test_a_job_that_failed_is_left_after_two_quiet_rounds(here: Here):
    here.running().end(FAILED, here.clock.now, "one")
    assert texts(here) == ["one"]
    assert len(here.clock.slept) == 2


def test_a_job_that_ended_without_a_line_is_left_after_two_quiet_rounds(here: Here):
    here.running().end(FAILED, here.clock.now)
    assert texts(here) == []
    assert len(here.clock.slept) == 1


@pytest.mark.parametrize(
    "line", [PROOF, f"launch: failure: {json.dumps({'rank': 1, 'host': 'b', 'reason': 'x'})}"]
)
def test_a_success_of_which_all_is_known_is_left_after_two_quiet_rounds(here: Here, line: str):
    here.running().end(SUCCEEDED, here.clock.now, line)
    assert texts(here) == [line]
    assert len(here.clock.slept) == 2


def test_a_job_that_is_quiet_for_long_is_followed_as_long_as_it_runs(here: Here):
    job = here.running("one")
    original = here.clock.sleep

    def sleep(seconds: float) -> None:
        original(seconds)
        if len(here.clock.slept) == 9:
            job.end(FAILED, here.clock.now, "two")

    here.clock.sleep = sleep  # type: ignore[method-assign]
    assert texts(here) == ["one", "two"]
    assert here.told == ["Memory Jobs: it is running", "Memory Jobs: it is failed"]


def test_a_job_that_this_ledger_does_not_know_is_followed_all_the_same(here: Here):
    here.cloud.jobs[here.handle.name] = StoredJob("{}", here.clock.now)
    here.cloud.jobs[here.handle.name].end(SUCCEEDED, here.clock.now, PROOF)
    assert texts(here) == [PROOF]


def test_one_watch_sees_each_line_once(here: Here, monkeypatch: pytest.MonkeyPatch):
    here.running().end(SUCCEEDED, here.clock.now, "one", PROOF)
    seen: list[str] = []
    see = JobWatch.see
    monkeypatch.setattr(
        JobWatch, "see", lambda self, line: (seen.append(line.text), see(self, line))
    )
    watch = JobWatch()
    assert texts(here, watch=watch) == seen == ["one", PROOF]
    assert watch.proof == "world size 2: 2 hosts x 1 rank, Gloo"
    assert watch.tail(0) == ["one", PROOF]
    assert watch.world_size == 2


def test_expired_credentials_are_waited_for_and_read_again(here: Here):
    here.running().end(SUCCEEDED, here.clock.now, PROOF)
    here.cloud.fail("poll", EXPIRED, EXPIRED)
    assert texts(here) == [PROOF]
    assert here.cloud.renewed == 2
    assert "remember again" in here.told[0]
    assert "answers again" in here.told[1]


def test_a_service_that_is_away_for_long_is_told_once(here: Here):
    here.running().end(SUCCEEDED, here.clock.now, PROOF)
    here.cloud.fail("poll", *[PASSING] * 8)
    assert texts(here) == [PROOF]
    assert [text for text in here.told if "does not answer" in text] == here.told[:1]
    assert max(here.clock.slept) == 20


def test_logs_that_may_not_be_read_say_so(here: Here):
    here.running()
    here.cloud.fail("lines", DENIED)
    with pytest.raises(LogsUnreadableError):
        texts(here)


def test_a_job_that_is_not_there_is_an_error(here: Here):
    with pytest.raises(LaunchError, match="no such job"):
        texts(here)
    with pytest.raises(LaunchError, match="no such job"):
        here.describe()


def test_the_end_is_kept_and_asked_for_no_more(here: Here):
    ended_at = here.clock.now - 60
    here.running().end(SUCCEEDED, ended_at, PROOF)
    assert here.describe().state == SUCCEEDED
    assert (here.entry.state, here.entry.ended) == (SUCCEEDED, ended_at)
    asked = len(here.cloud.calls)
    assert here.describe().proof == here.entry.proof
    assert len(here.cloud.calls) == asked


def test_a_job_that_runs_is_kept_as_running_alone(here: Here):
    here.running()
    found = here.describe()
    assert (found.state, found.details["doing"]) == ("running", "it is running")
    assert (here.entry.state, here.entry.ended) == ("running", None)


def test_an_intent_that_was_not_sent_is_not_looked_for(here: Here):
    here.intend()
    found = here.describe()
    assert (found.state, found.reason) == (
        INTENT,
        "prepared but not sent; run the same command again to send it",
    )
    assert here.cloud.calls == []


def test_an_intent_that_was_sent_and_is_not_known_stays_an_intent(here: Here):
    here.intend(details={"region": "r", "sent": here.clock.now})
    found = here.describe()
    assert found.state == INTENT
    assert "Memory Jobs does not know it" in found.reason


def test_an_intent_does_not_take_an_older_job_for_its_own(here: Here):
    here.running().created -= 3600
    here.ledger.update(here.entry, state=INTENT, details={"region": "r", "sent": here.clock.now})
    assert here.describe().state == INTENT


@pytest.mark.parametrize(("older", "state"), [(0, SUCCEEDED), (1, INTENT)])
def test_clocks_may_be_so_far_apart(here: Here, older: float, state: str):
    job = here.running()
    job.end(SUCCEEDED, here.clock.now - 60, PROOF)
    job.created = here.entry.created - CLOCK_SECONDS - older
    here.ledger.update(here.entry, state=INTENT, details={"region": "r", "sent": here.clock.now})
    assert here.describe().state == state


def test_a_job_that_the_service_no_longer_knows_is_lost_and_may_come_back(here: Here):
    here.running()
    here.cloud.jobs.clear()
    here.ledger.update(here.entry, proof="world size 2")
    found = here.describe()
    assert found.state == LOST
    assert "deleted" in found.reason
    assert "it had proven world size 2" in found.reason
    assert here.entry.state == "running"


def test_a_status_without_an_answer_is_an_error_that_passes(here: Here):
    here.running()
    here.cloud.fail("poll", *[PASSING] * 5)
    with pytest.raises(PassingError):
        here.describe()
    assert here.clock.slept == [0.5, 1.0, 2.0, 4.0]


def test_a_status_without_credentials_says_how_to_renew_them(here: Here):
    here.running()
    here.cloud.fail("poll", EXPIRED)
    with pytest.raises(CredentialsError) as refusal:
        here.describe()
    assert refusal.value.renewal == "remember again"
    assert here.cloud.renewed == 1
