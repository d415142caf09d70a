"""What a host's ranks are together, of ranks that nobody has started; on a made-up clock."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.failures import TRAINING, Failure
from launch_runtime.host import local_ranks
from launch_runtime.host.cluster import Cluster, Host
from launch_runtime.host.local_ranks import LocalRanks, log_path
from launch_runtime.host.peers.ranks_door import Meeting
from launch_runtime.host.settings import Settings

SETTINGS = Settings(
    job="job", world_size=6, instances=2, processes=3, log_folder="/logs", join_timeout=100.0,
    host_timeout=30.0, reminder=20.0, init_warning=300.0, stop_grace=2.0,
)  # fmt: skip
CLUSTER = Cluster([Host("host-1", "10.0.0.1"), Host("host-2", "10.0.0.2")], 1, 2222, False)
BOOM = Failure("host-2", "ValueError: boom", TRAINING)


class Made:
    """A rank, as its host sees it."""

    def __init__(self, number: int):
        self.number, self.pid, self.host = number, 100 + number, "host-2"
        self.started, self.initialised = True, False
        self.proof, self.phase = "", f"phase of {number}"
        self.failure: Failure | None = None
        self.status: int | None = None
        self.signals: list[int] = []
        self.events: list[dict[str, Any]] = []
        self.reads = 0
        self.looks = 0

    def poll(self) -> int | None:
        return self.status

    def signal(self, number: int) -> None:
        self.signals.append(number)

    def take(self, event: dict[str, Any]) -> Failure | None:
        self.events.append(event)
        return BOOM if event["fails"] else None

    def judge(self, status: int) -> Failure | None:
        return BOOM._replace(rank=self.number) if status else None

    def read_status(self) -> None:
        self.reads += 1

    def look_for_proof(self) -> None:
        self.looks += 1

    def evidence(self, limit: int) -> list[dict[str, Any]]:
        return [{"limit": limit}]


class Of:
    """The ranks 3 to 5 of the second host."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, processes: int = 3):
        self.now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr(local_ranks, "time", clock)
        monkeypatch.setattr(local_ranks, "Rank", lambda number, *_: Made(number))
        self.reaped: list[set[int]] = []
        processes_of = SimpleNamespace(
            reap_orphans=self.reaped.append, end_descendants=lambda seconds: None
        )
        monkeypatch.setattr(local_ranks, "processes", processes_of)
        settings = SETTINGS._replace(processes=processes)
        console: Any = None
        self.together = LocalRanks(CLUSTER, settings, console, lambda number, event: None)
        self.each: list[Any] = list(self.together._ranks)


@pytest.fixture
def of(monkeypatch: pytest.MonkeyPatch) -> Of:
    return Of(monkeypatch)


def test_a_host_has_the_ranks_behind_those_of_the_hosts_before_it(of: Of) -> None:
    assert [rank.number for rank in of.each] == [3, 4, 5]
    assert of.together.phase == "phase of 3"
    assert log_path(SETTINGS, 4) == "/logs/rank-4.log"
    assert log_path(SETTINGS._replace(log_folder=""), 4) == ""


@pytest.mark.parametrize(
    "error", [BlockingIOError(11, "no more processes"), RuntimeError("can't start new thread")]
)
def test_a_rank_that_cannot_be_started_is_named(
    of: Of, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(local_ranks.rank_environment, "build", lambda *_: {})
    of.each[0].start = refuse
    failure = of.together.start(["guard.py"], "/source", Meeting("127.0.0.1", 1))
    assert failure is not None
    assert (failure.rank, failure.phase) == (3, "starting")
    assert failure.reason == f"rank 3 cannot be started: {error}"


def test_ranks_run_until_each_was_seen_to_have_ended(of: Of) -> None:
    together = of.together
    of.each[0].started = False
    assert [rank.number for rank in together.alive] == [4, 5]
    of.each[1].status = 0
    assert together.running
    assert len(together.look()) == 1
    assert [rank.number for rank in together.alive] == [5]
    assert not together.ended_well
    of.each[2].status = 0
    assert len(together.look()) == 1, "each end is seen once"
    assert (together.running, together.ended_well) == (False, True)
    assert [rank.reads for rank in of.each] == [0, 1, 1]
    assert [rank.looks for rank in of.each] == [2, 1, 1], "the first one proves while it runs"
    assert of.reaped == [{103, 104, 105}] * 2


def test_ranks_of_which_one_has_said_that_it_fails_have_not_ended_well(of: Of) -> None:
    for rank in of.each:
        rank.status = 0
    of.each[1].failure = BOOM
    of.together.look()
    assert (of.together.running, of.together.ended_well) == (False, False)


def test_each_end_gives_what_is_left_to_claim_of_it(of: Of) -> None:
    of.each[0].status, of.each[2].status = 0, 1
    assert [judge() for judge in of.together.look()] == [None, BOOM._replace(rank=5)]


def test_what_a_guard_says_goes_to_its_rank_and_nonsense_is_no_failure(of: Of) -> None:
    assert of.together.take(4, {"fails": True}) == BOOM
    assert of.together.take(5, {"fails": False}) is None
    assert of.together.take(3, {"nonsense": 1}) is None
    assert [len(rank.events) for rank in of.each] == [1, 1, 1]
    assert of.each[1].events == [{"fails": True}]


def test_a_proof_is_the_first_ranks_and_a_word_is_any_ones(of: Of) -> None:
    together = of.together
    assert together.said_nothing
    assert together.uninitialised == [3, 4, 5]
    of.each[1].initialised = True
    assert not together.said_nothing
    assert together.uninitialised == [3, 5]
    of.each[1].initialised, of.each[0].proof = False, "world size 6"
    assert not together.said_nothing
    assert together.proof == "world size 6"


def test_ranks_get_their_grace_and_then_sigkill_and_the_first_end_counts(of: Of) -> None:
    together = of.together
    together.kill_overdue(now=True)
    assert not together.ending
    assert not together.given_up
    of.each[0].status = 0
    together.look()
    together.end(signal.SIGTERM, 2.0)
    together.end(signal.SIGINT, 60.0)
    assert together.ending
    of.now = 1002.0
    together.kill_overdue()
    assert [rank.signals for rank in of.each] == [[], [signal.SIGTERM], [signal.SIGTERM]]
    of.now = 1002.1
    together.kill_overdue()
    assert [rank.signals[1:] for rank in of.each] == [[], [signal.SIGKILL], [signal.SIGKILL]]


def test_ranks_are_killed_within_their_grace_where_somebody_insists(of: Of) -> None:
    of.together.end(signal.SIGTERM, 60.0)
    of.together.kill_overdue()
    of.together.kill_overdue(now=True)
    assert of.each[0].signals == [signal.SIGTERM, signal.SIGKILL]


def test_a_rank_that_the_kernel_keeps_is_given_up_five_seconds_later(of: Of) -> None:
    of.together.end(signal.SIGTERM, 2.0)
    of.now = 1007.0
    assert not of.together.given_up
    of.now = 1007.1
    assert of.together.given_up


def test_output_is_read_for_no_longer_than_given_for_all_ranks_together(of: Of) -> None:
    given: list[float] = []

    def drain(seconds: float) -> None:
        given.append(seconds)
        of.now += 2.0

    for rank in of.each:
        rank.drain = drain
    of.together.drain(3.0)
    assert given == [3.0, 1.0, 0.0]


@pytest.mark.parametrize(("processes", "limit"), [(3, 1 << 20), (64, 1 << 20), (128, 1 << 19)])
def test_the_evidence_of_many_ranks_is_bounded_as_a_whole(
    processes: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Of(monkeypatch, processes).together.evidence
    assert found == {number: [{"limit": limit}] for number in range(processes, 2 * processes)}
