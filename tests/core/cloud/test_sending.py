"""One request, whatever the service answers."""

from __future__ import annotations

import pytest

from launchers.core.cloud.job import Request
from launchers.core.cloud.sending import BUDGET, RetryBudget, intended, is_subset, send_once
from launchers.core.model.problems import (
    CredentialsError,
    InDoubtError,
    LaunchError,
    NameTakenError,
)
from tests.core.cloud.conftest import Here
from tests.core.cloud.memory import (
    DENIED,
    EXPIRED,
    PASSING,
    REFUSED,
    THROTTLED,
    StoredJob,
)
from tests.refusals import refused


def send(here: Here, may_be_sent: bool = False, budget: RetryBudget | None = None) -> list[str]:
    """Send it; gives what the cloud was asked for."""
    sent: list[str] = []
    request = Request(here.definition, here.clock.now)
    more = {"budget": budget} if budget else {}
    send_once(here.job, request, may_be_sent, lambda: sent.append("noted"), here.say, **more)
    assert len(sent) == (not may_be_sent), "noted once, before the first send"
    assert len(here.cloud.jobs) == 1
    return here.cloud.calls


def test_a_request_that_is_taken_is_sent_once_and_nothing_is_asked(here: Here):
    assert send(here) == ["create"]


def test_an_answer_that_is_lost_is_looked_for_before_anything_is_sent_again(here: Here):
    here.cloud.fail("create", "lost")
    assert send(here) == ["create", "find"]


def test_a_request_that_was_lost_on_the_way_is_sent_again(here: Here):
    here.cloud.fail("create", PASSING, PASSING)
    assert send(here) == ["create", "find", "create", "find", "create"]
    assert here.clock.slept == [0.5, 1.0]


def test_a_throttled_request_was_not_done_and_leaves_no_doubt(here: Here):
    here.cloud.fail("create", THROTTLED)
    assert send(here) == ["create", "create"]


def test_an_earlier_attempt_is_looked_for_first(here: Here):
    here.cloud.jobs[here.handle.name] = StoredJob(here.definition.text, here.clock.now)
    assert send(here, may_be_sent=True) == ["find"]


def test_a_name_that_is_taken_without_a_doubt_is_somebody_elses(here: Here):
    here.cloud.jobs[here.handle.name] = StoredJob("theirs", here.clock.now)
    with pytest.raises(NameTakenError, match="the name is taken: by Eve") as refusal:
        send(here)
    assert refusal.value.problems[0].rule == "name-taken"
    assert "--again" in refusal.value.problems[0].fix


@pytest.mark.parametrize(("text", "age"), [("theirs", 0), ('{"a": 1}\n', 3600)])
def test_a_job_that_differs_or_is_older_is_not_taken_for_ours(here: Here, text: str, age: int):
    here.cloud.jobs[here.handle.name] = StoredJob(text, here.clock.now - age)
    with pytest.raises(NameTakenError):
        send(here, may_be_sent=True)


def test_a_name_that_our_own_lost_request_took_is_found(here: Here):
    """The service does not see at once what it has created."""
    here.cloud.fail("create", "lost")
    here.cloud.fail("find", PASSING, PASSING)
    assert send(here) == ["create", "find", "find", "find"]


def test_a_refusal_says_what_to_do(here: Here):
    here.cloud.fail("create", REFUSED)
    with refused("cloud-refused", "ask for more") as refusal:
        send(here)
    assert not isinstance(refusal.value, InDoubtError)
    assert refusal.value.exit_code == 5


def test_who_may_not_ask_for_the_job_does_not_know_that_there_is_none(here: Here):
    here.cloud.fail("create", "lost")
    here.cloud.fail("find", DENIED)
    with pytest.raises(InDoubtError, match="never makes two"):
        send(here)


def test_credentials_that_expire_while_in_doubt_leave_the_doubt(here: Here):
    here.cloud.fail("create", PASSING, EXPIRED)
    with pytest.raises(InDoubtError):
        send(here)


def test_credentials_that_were_never_good_are_no_doubt(here: Here):
    here.cloud.fail("create", EXPIRED)
    with pytest.raises(CredentialsError):
        send(here)


def test_a_service_that_never_answers_leaves_a_doubt_within_the_budget(here: Here):
    here.cloud.fail("create", *[PASSING] * 100)
    here.cloud.fail("find", *[PASSING] * 100)
    begun = here.clock.now
    with pytest.raises(InDoubtError, match="no usable answer"):
        send(here, budget=RetryBudget(first=1, longest=10, total=60))
    assert here.clock.now - begun <= 60
    assert max(here.clock.slept) == 10
    assert "Memory Jobs does not answer properly" in here.told[0]


def test_a_service_that_never_answers_is_given_five_minutes(here: Here):
    here.cloud.fail("create", *[PASSING] * 100)
    here.cloud.fail("find", *[PASSING] * 100)
    with pytest.raises(InDoubtError):
        send(here)
    assert here.clock.slept[:6] == [0.5, 1, 2, 4, 8, 10]
    assert 290 < sum(here.clock.slept) <= 300
    assert RetryBudget(first=0.5, longest=10, total=300) == BUDGET


def test_a_wait_that_ends_with_the_budget_is_waited(here: Here):
    here.cloud.fail("create", *[PASSING] * 9)
    here.cloud.fail("find", *[PASSING] * 9)
    with pytest.raises(InDoubtError):
        send(here, budget=RetryBudget(first=1, longest=10, total=3))
    assert here.clock.slept == [1, 2]


@pytest.mark.parametrize(
    ("budget", "failures", "told"),
    [
        (RetryBudget(first=0.5), 3, 0),
        (RetryBudget(first=0.5), 4, 1),
        (RetryBudget(first=1, longest=4.5), 3, 0),
        (RetryBudget(first=1, longest=4.5), 4, 1),
    ],
)
def test_only_a_wait_of_more_than_four_times_the_first_is_told(
    here: Here, budget: RetryBudget, failures: int, told: int
):
    here.cloud.fail("create", *[THROTTLED] * failures)
    send(here, budget=budget)
    assert len(here.told) == told


def test_a_job_that_is_always_asked_for_first_is_asked_for_once(
    here: Here, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(type(here.job), "asks_first", True)
    here.cloud.fail("create", THROTTLED)
    assert send(here) == ["find", "create", "create"]


def test_a_question_without_an_answer_before_anything_was_sent_is_no_doubt(
    here: Here, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(type(here.job), "asks_first", True)
    here.cloud.fail("find", PASSING)
    here.cloud.fail("create", EXPIRED)
    with pytest.raises(CredentialsError):
        send(here)


def test_an_intent_that_was_given_up_meanwhile_is_not_sent(here: Here):
    with refused("intent-ended", "it was given up"), intended("memory", "x", here.say):
        pass
    here.intend(state="failed", reason="refused")
    with pytest.raises(LaunchError, match="it failed: refused"):
        here.submit()


def test_a_description_may_have_more_than_was_sent():
    assert is_subset({"a": 1, "b": [{"c": 2, "d": 3}]}, {"b": [{"c": 2}]})
    assert not is_subset({"b": [1, 2]}, {"b": [1]})
    assert not is_subset({"b": [1]}, {"b": [1, 2]})
    assert not is_subset({"a": 1}, {"b": 1})
    assert not is_subset({"a": 1}, {"a": 2})
    assert not is_subset({"a": 2}, {"a": 1})
    assert not is_subset("ab", ["a", "b"])
    assert not is_subset("a", {"a": 1})
    assert not is_subset({}, [1])
