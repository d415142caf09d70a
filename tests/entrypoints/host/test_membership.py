"""What a host reports to the first one."""

from __future__ import annotations

from typing import Any

import pytest
from launch_runtime.failures import JOINING, Failure
from launch_runtime.host import membership
from launch_runtime.host.cluster import Cluster, Host
from launch_runtime.host.membership import Membership
from launch_runtime.host.settings import Settings

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
