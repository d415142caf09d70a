"""What every cloud's jobs have in common: submitted once, described, ended, found by name."""

from __future__ import annotations

from typing import Any

import pytest

from launchers.core.model.jobs import RUNNING, STOPPED, SUCCEEDED, LogLine
from launchers.core.model.problems import InDoubtError, LaunchError
from tests.core.cloud.conftest import NAME, Here
from tests.core.cloud.memory import PASSING, REFUSED, StoredJob


def test_the_code_is_there_before_the_job(here: Here):
    here.intend()
    handle = here.submit()
    assert here.cloud.calls == ["upload", "create"]
    assert handle.details == {"region": "r", "number": NAME}
    assert here.entry.details["number"] == NAME
    assert "sent" in here.entry.details


def test_a_second_attempt_finds_the_job_of_the_first(here: Here):
    here.intend()
    here.submit()
    assert here.submit().details["number"] == NAME
    assert here.cloud.calls.count("create") == 1


def test_a_store_that_refuses_a_first_attempt_sends_nothing(here: Here):
    here.intend()
    here.cloud.fail("upload", REFUSED)
    with pytest.raises(LaunchError) as refusal:
        here.submit()
    assert not isinstance(refusal.value, InDoubtError)
    assert "create" not in here.cloud.calls
    assert "sent" not in here.entry.details


def test_a_store_that_refuses_a_second_attempt_does_not_end_the_first(here: Here):
    here.intend(details={"region": "r", "sent": 1.0})
    here.cloud.fail("upload", REFUSED)
    with pytest.raises(InDoubtError):
        here.submit()


def test_a_final_state_of_the_ledger_answers_without_a_question(here: Here):
    here.intend(state=SUCCEEDED, proof="world size 2", details={"model": "there"})
    found = here.describe()
    assert (found.state, found.proof, found.details["model"]) == (
        SUCCEEDED,
        "world size 2",
        "there",
    )
    assert here.cloud.calls == []


def test_a_job_that_this_ledger_does_not_know_is_asked_for_all_the_same(here: Here):
    here.cloud.jobs[NAME] = StoredJob("{}", here.clock.now)
    assert here.describe().state == RUNNING
    del here.cloud.jobs[NAME]
    with pytest.raises(LaunchError, match="no such job"):
        here.describe()


def test_the_lines_of_one_rank_are_its_own_alone(here: Here):
    job = here.running("of rank 0")
    job.lines.append(LogLine(here.clock.now, "host-2", 1, "of rank 1"))
    job.lines.append(LogLine(here.clock.now, "host-2", None, "of the host"))

    def texts(rank: int | None) -> list[str]:
        return [line.text for line in here.service.logs(here.handle, rank=rank)]

    assert texts(None) == ["of rank 0", "of rank 1", "of the host"]
    assert (texts(0), texts(1)) == (["of rank 0"], ["of rank 1"])


def test_a_job_that_runs_is_stopped_and_a_lost_answer_is_asked_for_again(here: Here):
    here.running()
    here.cloud.fail("stop", PASSING)
    here.service.cancel(here.handle)
    assert here.cloud.calls == ["stop", "stop"]
    assert here.describe().state == "stopping"


@pytest.mark.parametrize("state", [STOPPED, "stopping"])
def test_a_job_that_has_ended_or_is_ending_is_stopped_quietly(here: Here, state: str):
    here.running().state = state
    here.cloud.fail("stop", REFUSED)
    here.service.cancel(here.handle)


def test_a_stop_that_is_refused_says_so(here: Here):
    here.running()
    here.cloud.fail("stop", REFUSED)
    with pytest.raises(LaunchError, match=NAME):
        here.service.cancel(here.handle)
    here.cloud.fail("stop", REFUSED)
    here.cloud.fail("poll", REFUSED)
    with pytest.raises(LaunchError, match=NAME):
        here.service.cancel(here.handle)


def test_a_job_that_is_not_there_cannot_be_stopped(here: Here):
    with pytest.raises(LaunchError, match="no such job"):
        here.service.cancel(here.handle)


def test_a_name_is_looked_up_and_a_refusal_is_no_answer(here: Here):
    plan: Any = None
    assert not here.service.name_exists(plan, NAME)
    here.running()
    here.cloud.fail("exists", PASSING)
    assert here.service.name_exists(plan, NAME)
    here.cloud.fail("exists", REFUSED)
    with pytest.raises(LaunchError, match="Memory Jobs"):
        here.service.name_exists(plan, NAME)


def test_of_one_rank_the_other_ranks_lines_are_left_out(here: Here):
    here.running("hello")
    assert [line.text for line in here.service.logs(here.handle, rank=0)] == ["hello"]
    assert list(here.service.logs(here.handle, rank=1)) == []


def test_how_often_a_job_is_polled_can_be_set(here: Here, monkeypatch: pytest.MonkeyPatch):
    assert here.service.poll_seconds == 3
    monkeypatch.setenv("LAUNCH_POLL_SECONDS", "0")
    assert here.service.poll_seconds == 0.05
    monkeypatch.setenv("LAUNCH_POLL_SECONDS", "often")
    assert here.service.poll_seconds == 3
