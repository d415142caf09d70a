"""What a host reports to the first one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.failures import JOINING, TRAINING, Failure
from launch_runtime.host import membership
from launch_runtime.host.cluster import Cluster, Host
from launch_runtime.host.membership import Membership
from launch_runtime.host.settings import BEAT_SECONDS, IDLE_BEAT_SECONDS, Settings

from tests.waiting import until

SETTINGS = Settings(
    job="job", world_size=2, instances=2, processes=1, log_folder="", join_timeout=100.0,
    host_timeout=30.0, reminder=20.0, init_warning=300.0, stop_grace=2.0,
)  # fmt: skip
CLUSTER = Cluster([Host("host-1", "10.0.0.1"), Host("host-2", "10.0.0.2")], 1, 2222, False)
EVIDENCE: dict[int, list[dict[str, Any]]] = {1: [{"pid": 7}]}


class FirstHost:
    """Answers reports; ``deaf`` times it does not hear one with evidence."""

    def __init__(self, deaf: int):
        self.reports: list[dict[str, Any]] = []
        self.deaf = deaf

    def exchange(self, report: dict[str, Any]) -> dict[str, Any]:
        self.reports.append(dict(report))
        if "evidence" in report and self.deaf:
            self.deaf -= 1
            raise OSError("the network is gone for a moment")
        has = any("evidence" in one for one in self.reports)
        return {
            "incarnation": "first", "began": True, "finished": False, "missing": [],
            "verdict": None, "words": "", "has_evidence": has and not self.deaf,
        }  # fmt: skip


def test_evidence_is_sent_with_the_end_until_it_has_arrived_and_not_again() -> None:
    first = FirstHost(deaf=2)
    member = Membership(CLUSTER, SETTINGS, "this", first.exchange, lambda: None)
    member.start()
    until(lambda: member.began)
    assert not any("evidence" in report for report in first.reports)
    member.tell_ended(EVIDENCE)
    sent = 3  # twice in vain
    until(lambda: sum("evidence" in report for report in first.reports) == sent)
    heard = len(first.reports)
    until(lambda: len(first.reports) > heard + 2)
    member.deliver(10.0)
    assert sum("evidence" in report for report in first.reports) == sent
    assert all(one["evidence"] == EVIDENCE for one in first.reports if "evidence" in one)
    assert first.reports[-1]["left"]


class GoneHost(FirstHost):
    """Answers one report, and is gone."""

    def exchange(self, report: dict[str, Any]) -> dict[str, Any]:
        if self.reports:
            raise OSError("connection refused")
        return super().exchange(report)


def test_a_first_host_that_was_there_and_is_gone_is_not_waited_for_however_patient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(membership, "UNANSWERED_SECONDS", 0.1)
    member = Membership(CLUSTER, SETTINGS, "this", GoneHost(0).exchange, lambda: None)
    member.start()
    until(lambda: member.trouble)
    member.deliver(1800.0, patient=True)
    assert member.trouble == "connection refused"


def _never_seen(error: OSError) -> Membership:
    """A host that has failed, whose every report ends so."""

    def exchange(_: dict[str, Any]) -> dict[str, Any]:
        raise error

    member = Membership(CLUSTER, SETTINGS, "this", exchange, lambda: None)
    member.claim(Failure("host-2", "no space", JOINING, code=1))
    member.start()
    until(lambda: member.trouble)
    return member


def test_a_failed_host_ends_where_the_first_ones_machine_refuses_every_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(membership, "REFUSED_SECONDS", 0.05)
    member = _never_seen(ConnectionRefusedError(111, "Connection refused"))
    until(lambda: member.verdict() is not None)
    verdict = member.verdict()
    assert verdict is not None
    assert verdict.reason == "no space"
    assert member.decided_alone
    member.deliver(1800.0, patient=True)


@pytest.mark.parametrize(
    "error", [TimeoutError("timed out"), OSError(-2, "Name or service not known")], ids=str
)
def test_a_failed_host_waits_for_a_first_one_that_may_still_come(
    error: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership, "REFUSED_SECONDS", 0.0)
    member = _never_seen(error)
    assert member.verdict() is None
    member.deliver(0.0)


def test_a_host_without_a_failure_waits_for_one_that_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(membership, "REFUSED_SECONDS", 0.0)

    def refuse(_: dict[str, Any]) -> dict[str, Any]:
        raise ConnectionRefusedError

    member = Membership(CLUSTER, SETTINGS, "this", refuse, lambda: None)
    member.start()
    until(lambda: member.trouble)
    assert member.verdict() is None
    member.deliver(0.0)


CAUSE = Failure("host-2", "ValueError: boom", TRAINING, rank=1)
CONSEQUENCE = Failure("host-2", "HorovodInternalError", TRAINING, rank=1, consequence=True)
STOP = Failure("host-2", "stopped by SIGTERM", TRAINING, signal="SIGTERM", stop=True, code=143)
REFUSED = ConnectionRefusedError(111, "Connection refused")
STATE: dict[str, Any] = {
    "incarnation": "first", "missing": [], "preparing": [], "began": False, "verdict": None,
    "finished": False, "has_evidence": False, "words": "", "contacts": [], "stacks": 0,
}  # fmt: skip


class Clocked:
    """A host whose reports are sent one by one, on a made-up clock that begins at 1000."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now, sleep=self._sleep)
        monkeypatch.setattr(membership, "time", clock)
        self.reports: list[dict[str, Any]] = []
        self.waits: list[float] = []
        self.woken = 0
        self.member = Membership(CLUSTER, SETTINGS, "this", self._exchange, self._wake)
        self.member._news = SimpleNamespace(  # type: ignore[assignment]
            wait=self.waits.append, clear=lambda: None, set=lambda: None
        )

    def _sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds

    def _wake(self) -> None:
        self.woken += 1

    def _exchange(self, report: dict[str, Any]) -> dict[str, Any]:
        self.member._closed = True
        self.reports.append(dict(report))
        if isinstance(self._answer, OSError):
            raise self._answer
        return self._answer

    def beat(self, now: float, answer: OSError | dict[str, Any]) -> None:
        """One report at ``now`` seconds, and what comes back; of a state, what is another there."""
        self.now, self._answer = 1000.0 + now, answer
        if isinstance(answer, dict):
            self._answer = {**STATE, **answer}
        self.member._closed = False
        self.member._beat()

    def claim(self, now: float, failure: Failure) -> None:
        self.now = 1000.0 + now
        self.member.claim(failure)

    def reason(self, now: float) -> str:
        self.now = 1000.0 + now
        verdict = self.member.verdict()
        return verdict.reason if verdict else ""


@pytest.fixture
def clocked(monkeypatch: pytest.MonkeyPatch) -> Clocked:
    return Clocked(monkeypatch)


def test_the_first_report_says_who_this_host_is_and_that_nothing_has_happened(
    clocked: Clocked,
) -> None:
    member = clocked.member
    clocked.beat(0, {})
    assert clocked.reports == [
        {
            "host": 1, "incarnation": "this", "job": "job", "hosts": 2, "world_size": 2,
            "processes": 1, "ready": True, "began": False, "failures": [], "ended": False,
            "left": False,
        }
    ]  # fmt: skip
    assert (member.began, member.finished, member.words, member.contacts) == (False, False, "", [])


def test_before_an_answer_and_after_the_last_one_the_first_host_is_missing(
    clocked: Clocked,
) -> None:
    member = clocked.member
    assert (member.missing, member.preparing, member.asked_for_stacks) == (["host-1"], [], 0)
    clocked.beat(1, {"missing": ["host-3"], "preparing": ["host-4"], "stacks": 2})
    assert (member.missing, member.preparing) == (["host-3"], ["host-4"])
    assert member.asked_for_stacks == 2
    clocked.beat(2, TimeoutError())
    assert (member.missing, member.trouble) == (["host-1"], "TimeoutError")
    clocked.beat(3, {})
    assert (member.missing, member.trouble) == ([], "")


def test_only_what_is_new_wakes_the_agent(clocked: Clocked) -> None:
    for number, answer in enumerate(
        ({}, {"stacks": 1}, {"began": True}, {"began": True}, {"began": True, "finished": True})
    ):
        clocked.beat(number, answer)
    assert clocked.woken == 2
    clocked.beat(9, {"began": True, "finished": True, "verdict": CAUSE.fields()})
    assert clocked.woken == 3


def test_a_host_reports_less_often_while_its_ranks_run(clocked: Clocked) -> None:
    clocked.beat(0, {})
    clocked.member.tell(began=True)
    clocked.beat(1, {})
    clocked.member.tell(ended=True)
    clocked.beat(2, {})
    assert clocked.waits == [IDLE_BEAT_SECONDS, BEAT_SECONDS, IDLE_BEAT_SECONDS]


def test_a_first_host_that_says_nothing_any_more_is_lost_after_the_timeout(
    clocked: Clocked,
) -> None:
    clocked.beat(10, {"began": True})
    assert not clocked.reason(40)
    assert not clocked.member.decided_alone
    assert clocked.reason(41).startswith("host-1 was silent for 31 s")
    assert clocked.member.decided_alone
    clocked.beat(42, {"began": True})
    assert clocked.reports[-1]["failures"][0]["reason"].startswith("host-1 was silent")


def test_a_host_with_a_failure_gives_up_on_a_silent_first_one_sooner(clocked: Clocked) -> None:
    clocked.beat(10, {"began": True})
    clocked.claim(20, CAUSE)
    assert not clocked.reason(23)
    assert clocked.reason(23.1) == "ValueError: boom"


def test_a_failure_waits_for_a_first_host_that_has_just_answered(clocked: Clocked) -> None:
    clocked.claim(10, CAUSE)
    clocked.beat(20, {"began": True})
    assert not clocked.reason(23)
    assert clocked.reason(23.1) == "ValueError: boom"


def test_a_first_host_that_is_gone_is_the_cause_of_what_only_follows(clocked: Clocked) -> None:
    clocked.beat(10, {"began": True})
    clocked.claim(11, CONSEQUENCE)
    assert clocked.reason(15).startswith("host-1 was silent for 5 s")


def test_of_a_hosts_failures_the_first_that_is_no_consequence_counts(clocked: Clocked) -> None:
    clocked.beat(10, {"began": True})
    for failure in (CONSEQUENCE, CAUSE, CAUSE._replace(reason="another")):
        clocked.claim(11, failure)
    assert clocked.reason(15) == "ValueError: boom"


def test_a_first_host_that_never_answers_is_said_not_to_have_joined(clocked: Clocked) -> None:
    clocked.beat(99, TimeoutError("timed out"))
    assert not clocked.reason(100)
    assert clocked.reason(100.1) == ("host-1 did not join within 100 s (10.0.0.1:2222: timed out)")


def test_a_failure_of_its_own_counts_more_than_a_first_host_that_never_came(
    clocked: Clocked,
) -> None:
    for failure in (CAUSE, CAUSE._replace(reason="another")):
        clocked.claim(10, failure)
    clocked.beat(99, TimeoutError("timed out"))
    assert not clocked.reason(100)
    assert clocked.reason(100.1) == "ValueError: boom"


@pytest.mark.parametrize(
    ("claimed", "refused", "until_then"),
    [(5, 10, 70), (10, 5, 70)],
    ids=["a failure and then refused", "refused and then a failure"],
)
def test_a_machine_that_refuses_is_given_a_minute_from_both(
    claimed: float, refused: float, until_then: float, clocked: Clocked
) -> None:
    clocked.claim(claimed, CAUSE)
    for now in (refused, 50, 65):
        clocked.beat(now, REFUSED)
    assert not clocked.reason(until_then)
    assert clocked.reason(until_then + 0.1) == "ValueError: boom"


def test_a_machine_that_was_silent_in_between_is_given_a_minute_anew(clocked: Clocked) -> None:
    clocked.claim(1, CAUSE)
    for now, answer in ((2, REFUSED), (30, TimeoutError()), (31, REFUSED)):
        clocked.beat(now, answer)
    assert not clocked.reason(90)
    assert clocked.reason(91.1) == "ValueError: boom"


@pytest.mark.parametrize("word", ["another", "zero"])
def test_another_agent_in_the_first_hosts_place_ends_a_job_that_has_begun(
    word: str, clocked: Clocked
) -> None:
    clocked.beat(1, {})
    clocked.beat(2, {"incarnation": "a start before the job began"})
    assert not clocked.reason(2)
    clocked.beat(3, {"began": True})
    clocked.beat(4, {"incarnation": word})
    assert clocked.reason(4) == "host-1 was started again while the job ran; its ranks are lost"


def test_whoever_asks_for_the_end_is_heard_at_once(clocked: Clocked) -> None:
    clocked.beat(1, {"began": True})
    clocked.claim(2, CAUSE)
    assert not clocked.reason(2)
    clocked.claim(2, STOP)
    assert clocked.reason(2) == "stopped by SIGTERM"
    clocked.beat(3, {"began": True, "verdict": CAUSE.fields()})
    assert clocked.reason(3) == "stopped by SIGTERM", "the first verdict stays"
    told = [failure["reason"] for failure in clocked.reports[-1]["failures"]]
    assert told == ["ValueError: boom", "stopped by SIGTERM"]


def test_the_end_is_told_for_no_longer_than_it_may_take(clocked: Clocked) -> None:
    clocked.beat(1, {"began": True})
    clocked.member.deliver(5.0)
    assert 1006.0 <= clocked.now < 1007.0


def test_who_was_never_heard_of_is_waited_for_only_with_patience(clocked: Clocked) -> None:
    clocked.beat(1, TimeoutError("timed out"))
    clocked.member.deliver(5.0)
    assert clocked.now == 1001.0
    clocked.member.deliver(5.0, patient=True)
    assert clocked.now >= 1006.0
