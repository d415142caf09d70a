from __future__ import annotations

import json
from typing import Any

import pytest
from launch_runtime import strategies
from launch_runtime.failures import ENDING, JOINING, STARTING, TRAINING, Failure
from launch_runtime.host.claims import CONSEQUENCE_SECONDS
from launch_runtime.host.cluster import Cluster, Host
from launch_runtime.host.coordinator import Coordinator
from launch_runtime.host.settings import Settings

SETTINGS = Settings(
    job="job", world_size=6, instances=3, processes=2, log_folder="", join_timeout=100.0,
    host_timeout=30.0, reminder=20.0, init_warning=300.0, stop_grace=2.0,
)  # fmt: skip
CAUSE = Failure("host-2", "ValueError: boom", TRAINING, rank=3, exit_code=1)
CONSEQUENCE = Failure("host-1", "HorovodInternalError", TRAINING, rank=0, consequence=True)


class Table:
    """A coordinator of three hosts, and what they say to it."""

    def __init__(
        self, hosts: int = 3, managed: bool = False, started: float = 0.0, **settings: Any
    ):
        self.said: list[str] = []
        self.news = 0
        names = [Host(f"host-{number + 1}", f"10.0.0.{number}") for number in range(hosts)]
        self.coordinator = Coordinator(
            Cluster(names, 0, 2222, managed), SETTINGS._replace(**settings), "first", started,
            self.said.append, self._on_news,
        )  # fmt: skip

    def _on_news(self) -> None:
        self.news += 1

    def report(self, host: int, now: float, **changes: Any) -> dict[str, Any]:
        failures = [failure.fields() for failure in changes.pop("failures", [])]
        report = {
            "host": host, "incarnation": f"start-{host}", "job": "job", "hosts": 3,
            "world_size": 6, "processes": 2, "began": False, "failures": failures,
            "ended": False, "left": False, **changes,
        }  # fmt: skip
        return self.coordinator.report(report, now)

    def begin(self) -> None:
        for host in range(3):
            self.report(host, 1.0)

    def reason(self, host: int, now: float, **changes: Any) -> str:
        verdict = self.report(host, now, **changes)["verdict"]
        return str(verdict["reason"]) if verdict else ""


def test_the_job_begins_when_all_hosts_are_here() -> None:
    table = Table()
    assert table.report(0, 0.0)["missing"] == ["host-2", "host-3"]
    assert table.report(2, 1.0)["missing"] == ["host-2"]
    state = table.report(1, 2.0)
    assert (state["began"], state["missing"], state["verdict"]) == (True, [], None)
    assert table.report(0, 2.1)["began"]
    assert table.news == 1
    assert table.said[-1] == "host-2 is here, 3 of 3 hosts"


def test_hosts_that_install_packages_are_here_however_long_it_takes() -> None:
    table = Table()
    for now in range(0, 300, 20):
        for host in (0, 1, 2):
            state = table.report(host, float(now), ready=host == 1)
    assert (state["began"], state["verdict"], state["missing"]) == (False, None, [])
    assert state["preparing"] == ["host-1", "host-3"]
    assert not table.report(0, 300.0)["began"]
    assert table.report(2, 300.0)["began"]


def test_a_missing_host_is_named_though_another_one_still_installs() -> None:
    table = Table()
    table.report(1, 99.0, ready=False)
    assert table.reason(0, 101.0) == "host-3 did not join within 100 s"


def test_what_cannot_be_installed_ends_a_job_that_has_not_begun() -> None:
    table = Table(managed=True)
    table.report(0, 0.0, ready=False)
    cause = Failure("host-2", "nosuch: no such package", STARTING)
    verdict = table.report(1, 1.0, ready=False, failures=[cause])["verdict"]
    assert (verdict["reason"], verdict["code"]) == ("nosuch: no such package", 1)


def test_the_hosts_that_never_came_are_named_after_the_timeout() -> None:
    table = Table()
    table.report(1, 0.5)
    assert not table.reason(1, 99.0)
    verdict = table.report(1, 101.0)["verdict"]
    assert verdict["reason"] == "host-1 and host-3 did not join within 100 s"
    assert (verdict["phase"], verdict["rank"], verdict["code"]) == (JOINING, None, 1)


def test_a_host_that_comes_at_the_last_moment_is_in_time() -> None:
    table = Table(started=50.0)
    table.report(0, 149.0)
    table.report(1, 149.0)
    assert not table.reason(1, 150.0)
    assert table.report(2, 150.0)["began"]


def test_the_failure_of_hosts_that_never_came_names_the_first_of_them() -> None:
    table = Table(started=50.0)
    table.report(0, 100.0)
    verdict = table.report(0, 150.1)["verdict"]
    assert verdict["host"] == "host-2"
    assert verdict["reason"] == "host-2 and host-3 did not join within 100 s"


def test_a_host_is_said_to_be_here_once_and_a_single_one_not_at_all() -> None:
    table = Table(2, world_size=4, instances=2)
    for now in (0.0, 1.0):
        for host in (0, 1):
            table.report(host, now, hosts=2, world_size=4)
    assert table.said == ["host-1 is here, 1 of 2 hosts", "host-2 is here, 2 of 2 hosts"]
    alone = Table(1, world_size=2, instances=1)
    assert alone.report(0, 0.0, hosts=1, world_size=2)["began"]
    assert alone.said == []


def test_a_host_that_was_silent_for_no_longer_than_it_may_is_not_missing() -> None:
    table = Table()
    table.report(2, 20.0)
    assert table.report(0, 50.0)["missing"] == ["host-2"]
    assert table.report(0, 50.1)["missing"] == ["host-2", "host-3"]


def test_a_host_that_came_and_went_before_the_beginning_is_missing_again() -> None:
    table = Table()
    table.report(2, 0.0)
    for now in range(0, 50, 5):
        state = table.report(0, float(now))
    assert state["missing"] == ["host-2", "host-3"]


def test_a_host_that_starts_again_before_the_beginning_is_welcome() -> None:
    table = Table()
    table.report(0, 0.0)
    table.report(1, 0.0)
    table.report(1, 1.0, incarnation="second")
    assert table.report(2, 2.0)["began"]
    assert not table.reason(1, 3.0, incarnation="second")


@pytest.mark.parametrize("word", ["another", "zero"])
def test_a_host_that_starts_again_after_the_beginning_ends_the_job(word: str) -> None:
    table = Table()
    table.begin()
    assert table.reason(2, 5.0, incarnation=word) == (
        "host-3 was started again while the job ran; its ranks are lost"
    )
    assert table.reason(1, 5.1) == table.reason(0, 5.2)


def test_a_first_host_that_starts_again_learns_it_from_the_others() -> None:
    table = Table()
    assert table.reason(1, 0.5, began=True).startswith("host-1 was started again")


@pytest.mark.parametrize(("managed", "code"), [(True, 6), (False, 1)])
def test_a_lost_host_is_a_failure_that_a_service_may_retry(managed: bool, code: int) -> None:
    table = Table(managed=managed)
    table.begin()
    assert table.report(2, 5.0, incarnation="second")["verdict"]["code"] == code


def test_a_silent_host_ends_the_job() -> None:
    table = Table()
    table.begin()
    table.report(1, 20.0)
    assert not table.reason(0, 30.0)
    table.report(1, 31.0)
    assert table.reason(0, 32.0).startswith("host-3 was silent for 31 s")


def test_a_host_is_lost_only_after_all_of_the_time_that_it_may_be_silent() -> None:
    table = Table()
    table.begin()
    table.report(1, 20.0)
    assert not table.reason(0, 31.0)
    assert table.reason(0, 31.1).startswith("host-3 was silent for 30 s")


def test_a_host_that_has_left_is_not_silent() -> None:
    table = Table()
    table.begin()
    table.report(2, 2.0, ended=True, left=True)
    table.report(1, 30.0)
    assert not table.reason(0, 40.0)


def test_hosts_are_told_where_to_meet_once_all_have_a_free_port() -> None:
    table = Table()
    table.report(2, 0.0, port=3333)
    table.report(0, 0.0, port=1111)
    contacts = [["10.0.0.0", 1111], ["10.0.0.1", 2222], ["10.0.0.2", 3333]]
    assert table.report(1, 0.1, port=2222)["contacts"] == contacts
    assert table.report(1, 0.2, port=4444)["contacts"] == contacts, "decided once"


def test_hosts_whose_ports_are_not_asked_for_meet_nowhere() -> None:
    table = Table()
    table.begin()
    assert table.report(0, 2.0)["contacts"] == []


def test_a_job_that_promises_no_number_of_hosts_begins_with_those_of_its_cluster() -> None:
    table = Table(instances=0)
    table.begin()
    assert table.report(0, 2.0)["began"]


@pytest.mark.parametrize(("size", "fits"), [(6, True), (12, True), (3, False), (9, False)])
def test_replicas_are_shared_evenly_by_the_ranks(size: int, fits: bool) -> None:
    table = Table(world_size=size, strategy=strategies.named("tensorflow"))
    for host in range(3):
        state = table.report(host, 1.0, world_size=size)
    assert state["began"] == fits
    assert fits or f"expected {size}, found 6" in state["verdict"]["reason"]


DISAGREEMENTS = {
    "processes": (
        {"processes": 4}, {}, "LAUNCH_PROCESSES differs between hosts: 2 on host-1, 4 on host-2",
    ),
    "world size": (
        {"world_size": 8}, {},
        "LAUNCH_WORLD_SIZE differs between hosts: 6 on host-1, 8 on host-2",
    ),
    "the sum": ({}, {"world_size": 6, "processes": 4}, "expected 6, found 12"),
    "too few": (
        {}, {"world_size": 8}, "expected 8, found 6 (3 hosts x 2 ranks)",
    ),
    "number of hosts": (
        {"hosts": 2}, {},
        "number of hosts differs between hosts: 3 on host-1, 2 on host-2, 3 on host-3",
    ),
    "the hosts": ({}, {"instances": 4}, "LAUNCH_INSTANCES promises 4 hosts, found 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", DISAGREEMENTS)
def test_hosts_that_do_not_make_the_promised_job_never_begin(case: str) -> None:
    told, settings, words = DISAGREEMENTS[case]
    table = Table(**settings)
    own = {key: settings[key] for key in ("processes", "world_size") if key in settings}
    table.report(0, 0.0, **own)
    table.report(1, 0.1, **{**own, **told})
    state = table.report(2, 0.2, **own)
    assert words in state["verdict"]["reason"]
    assert not state["began"]


def test_a_host_that_comes_with_a_failure_lets_no_job_begin() -> None:
    table = Table()
    table.report(0, 0.0)
    table.report(1, 0.1)
    state = table.report(2, 0.2, failures=[CAUSE._replace(host="host-3", phase=JOINING)])
    assert not state["began"]
    assert state["verdict"]["host"] == "host-3"


def test_the_first_cause_is_the_verdict_on_every_host() -> None:
    table = Table()
    table.begin()
    other = CAUSE._replace(host="host-3", rank=5)
    assert table.reason(1, 2.0, failures=[CAUSE]) == "ValueError: boom"
    assert table.report(2, 2.1, failures=[other])["verdict"]["rank"] == 3
    assert table.report(0, 2.2)["verdict"]["rank"] == 3


def test_a_consequence_waits_for_its_cause() -> None:
    table = Table()
    table.begin()
    assert not table.reason(0, 2.0, failures=[CONSEQUENCE])
    assert not table.reason(0, 2.0 + 0.9 * CONSEQUENCE_SECONDS, failures=[CONSEQUENCE])
    assert table.report(1, 3.45, failures=[CAUSE])["verdict"]["rank"] == 3


def test_a_consequence_without_a_cause_is_the_verdict_in_the_end() -> None:
    table = Table()
    table.begin()
    table.report(0, 2.0, failures=[CONSEQUENCE])
    for host in (1, 2):
        table.report(host, 3.0)
    verdict = table.report(0, 2.1 + CONSEQUENCE_SECONDS)["verdict"]
    assert verdict["rank"] == 0
    assert verdict["reason"].startswith("a rank ended before the others, or two hosts cannot reach")
    assert verdict["reason"].endswith("HorovodInternalError")


def test_a_host_that_was_heard_when_a_rank_met_the_consequence_is_not_its_cause() -> None:
    table = Table()
    table.begin()
    table.report(0, 2.0, failures=[CONSEQUENCE])
    for host in (1, 2):
        table.report(host, 2.0)
    verdict = table.report(0, 2.1 + CONSEQUENCE_SECONDS)["verdict"]
    assert (verdict["host"], verdict["rank"]) == ("host-1", 0)


@pytest.mark.parametrize(("hosts", "several"), [(1, False), (2, True)])
def test_other_hosts_are_blamed_for_a_consequence_only_where_there_are_some(
    hosts: int, several: bool
) -> None:
    own = {"hosts": hosts, "world_size": 2 * hosts}
    table = Table(hosts, instances=hosts, world_size=2 * hosts)
    for now in (1.0, 2.0):
        for host in range(hosts):
            table.report(host, now, **own, failures=[CONSEQUENCE] if now == 2.0 else [])
    reason = table.reason(0, 2.1 + CONSEQUENCE_SECONDS, **own)
    assert reason.startswith("a rank ended before the others") == several


def test_a_host_that_went_silent_is_the_cause_of_what_only_follows() -> None:
    table = Table(managed=True)
    table.begin()
    for now in (2.0, 2.5, 3.0, 3.5):
        table.report(0, now, failures=[CONSEQUENCE] if now > 2.2 else [])
        table.report(1, now)
    verdict = table.report(0, 4.0, failures=[CONSEQUENCE])["verdict"]
    assert verdict["reason"].startswith("host-3 was silent for 3 s")
    assert verdict["reason"].endswith("; then HorovodInternalError")
    assert (verdict["host"], verdict["rank"], verdict["code"]) == ("host-3", None, 6)


def test_the_job_is_finished_when_all_hosts_have_ended_well() -> None:
    table = Table()
    table.begin()
    table.report(0, 2.0, ended=True)
    assert not table.report(1, 2.1, ended=True)["finished"]
    assert table.report(2, 2.2, ended=True)["finished"]
    # Hosts that know it leave, and their silence is no failure.
    assert table.report(0, 90.0, ended=True)["finished"]


def test_a_host_that_gave_up_alone_is_no_host_that_ended_well() -> None:
    table = Table()
    table.begin()
    table.report(0, 2.0, ended=True)
    table.report(1, 2.0, ended=True)
    gave_up = Failure("host-1", "host-1 was silent", TRAINING)
    state = table.report(2, 2.1, ended=True, left=True, failures=[gave_up])
    assert not state["finished"]
    assert state["verdict"]["reason"] == "host-1 was silent"


def test_the_first_host_waits_for_all_that_were_heard_of_lately() -> None:
    table = Table()
    table.begin()
    table.report(1, 9.0, left=True)
    table.report(2, 9.0)
    assert table.coordinator.waiting_for(9.5, "left", 2.0) == ["host-3"]
    assert table.coordinator.waiting_for(10.9, "left", 2.0) == ["host-3"]
    assert table.coordinator.waiting_for(11.0, "left", 2.0) == []


@pytest.mark.parametrize("managed", [True, False])
def test_a_first_host_that_was_started_again_waits_for_all_to_hear_of_it(managed: bool) -> None:
    table = Table(managed=managed)
    assert table.coordinator.waiting_for(0.5, "left", 2.0) == []
    assert "host-1 was started again" in table.reason(1, 1.0, began=True)
    assert table.coordinator.waiting_for(1.5, "left", 2.0) == ["host-2", "host-3"]
    table.report(2, 2.0, began=True)
    table.report(1, 2.0, began=True, left=True)
    assert table.coordinator.waiting_for(2.5, "left", 2.0) == ["host-3"]
    assert table.coordinator.waiting_for(9.0, "left", 2.0) == []


@pytest.mark.parametrize(
    "changes", [{"job": "another"}, {"host": 3}, {"failures": [CAUSE._replace(rank=1)], "host": -1}]
)
def test_a_report_that_is_not_of_this_job_is_refused(changes: dict[str, Any]) -> None:
    table = Table()
    with pytest.raises(ValueError, match=r"job|host"):
        table.report(**{"host": 1, "now": 1.0, **changes})


def record(exchanged: bool = True, final: bool = True) -> dict[str, Any]:
    groups = ["all"] if exchanged else []
    one = {
        "name": "Adam", "form": "f", "variables": 2, "elements": 200, "local": 0,
        "exchanged": 2 * exchanged, "how": "gradients" if exchanged else "", "groups": groups,
        "phases": ["during"], "weights": None,
    }  # fmt: skip
    return {
        "pid": 7, "final": final, "joined": False, "called_after": 0, "other": [], "sets": [one],
    }  # fmt: skip


def evidence_of(host: int, **how: bool) -> dict[str, Any]:
    """As it comes out of JSON."""
    own = {rank: [record(**how)] for rank in (2 * host, 2 * host + 1)}
    value: dict[str, Any] = json.loads(json.dumps(own))
    return value


def end_all(table: Table, **how: bool) -> dict[str, Any]:
    table.begin()
    for host in range(3):
        state = table.report(host, 2.0, ended=True, evidence=evidence_of(host, **how))
    return state


def test_a_job_is_finished_with_what_the_evidence_of_all_ranks_says() -> None:
    table = Table()
    assert table.report(0, 0.0)["words"] == ""
    state = end_all(table)
    assert (state["finished"], state["verdict"]) == (True, None)
    assert state["words"] == "gradients exchanged, weights not compared"
    assert table.report(0, 2.1, ended=True)["words"] == state["words"]


def test_a_job_whose_ranks_trained_apart_is_not_finished_but_has_failed() -> None:
    table = Table()
    state = end_all(table, exchanged=False)
    assert not state["finished"]
    failure = state["verdict"]
    assert failure["reason"].startswith("6 ranks trained apart")
    assert "--proof init" in failure["fix"]
    assert (failure["phase"], failure["rank"], failure["code"]) == (ENDING, None, 1)
    assert failure["judged"]
    assert table.reason(1, 2.1, ended=True, left=True) == failure["reason"]


def test_a_host_is_told_that_its_evidence_is_here_and_need_not_send_it_again() -> None:
    table = Table()
    table.begin()
    assert not table.report(1, 2.0)["has_evidence"]
    assert table.report(1, 2.1, ended=True, evidence=evidence_of(1))["has_evidence"]
    assert table.report(1, 2.2, ended=True)["has_evidence"]
    assert not table.report(2, 2.3, ended=True)["has_evidence"]
    state = table.report(0, 2.4, ended=True, evidence=evidence_of(0))
    assert state["words"].endswith("evidence missing from ranks 4 and 5")


@pytest.mark.parametrize(("mode", "finished"), [("exchange", True), ("strict", False)])
def test_evidence_that_is_none_is_missing(mode: str, finished: bool) -> None:
    table = Table(proof=mode)
    table.begin()
    for host, nonsense in enumerate(([], {"0": [record()], "9": 3}, {"4": [[], {}], "x": None})):
        state = table.report(host, 2.0, ended=True, evidence=nonsense)
    assert state["finished"] == finished
    assert state["words"] == "evidence missing"


def test_what_a_host_says_of_another_ones_ranks_is_no_evidence() -> None:
    table = Table()
    table.begin()
    everything = {str(rank): [record()] for rank in range(6)}
    for host in range(3):
        own = {"evidence": everything} if host == 1 else {}
        state = table.report(host, 2.0, ended=True, **own)
    assert state["words"].endswith("evidence missing from ranks 0, 1, 4 and 5")


def test_nobody_is_asked_for_evidence_where_the_world_is_proof_enough() -> None:
    table = Table(proof="init")
    state = end_all(table, exchanged=False)
    assert (state["finished"], state["words"]) == (True, "")


def test_a_failure_that_was_told_before_counts_more_than_the_evidence() -> None:
    table = Table()
    table.begin()
    table.report(0, 2.0, failures=[CAUSE], evidence=evidence_of(0, exchanged=False))
    for host in (1, 2):
        state = table.report(host, 2.1, ended=True, evidence=evidence_of(host, exchanged=False))
    assert state["verdict"]["reason"] == "ValueError: boom"


def test_a_job_that_fails_before_all_have_come_has_a_word_for_those_who_come_late() -> None:
    cause = Failure("host-2", "no such script", JOINING)
    for managed, awaited in ((True, ["host-3"]), (False, [])):
        table = Table(managed=managed, started=10.0)
        table.report(0, 10.0)
        assert table.reason(1, 11.0, failures=[cause]) == "no such script"
        table.report(1, 11.5, failures=[cause], ended=True, left=True)
        assert table.coordinator.waiting_for(12.0, "left", 2.0) == awaited
        assert table.coordinator.waiting_for(110.0, "left", 2.0) == awaited
        assert table.coordinator.waiting_for(110.1, "left", 2.0) == []


def test_a_job_that_is_stopped_before_all_have_come_waits_for_nobody() -> None:
    table = Table(managed=True)
    stop = Failure("host-1", "stopped by SIGTERM", JOINING, signal="SIGTERM", stop=True, code=143)
    table.report(0, 0.0, failures=[stop])
    assert table.coordinator.waiting_for(1.0, "left", 2.0) == []
