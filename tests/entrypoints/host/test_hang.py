"""Who hangs, as the first host puts it together; no processes, no clock."""

from __future__ import annotations

from typing import Any

import pytest
from launch_runtime.host.hang import PATIENCE_SECONDS, Finding, find
from launch_runtime.host.settings import END, WAIT

from tests.entrypoints.host.test_coordinator import Table


def entry(at: str = "train.py:9 step", **changes: Any) -> dict[str, Any]:
    given = {"at": at, "waits": "", "beside": "", "state": "S", "busy": False, "counts": {}}
    return {**given, **changes}


WAITING = entry("train.py:9 step", waits="all_reduce")
LOADING = entry("data.py:12 load")

# what the ranks are seen at; the rank that is named, and the words
FOUND: dict[str, tuple[dict[int, Any], Finding]] = {
    "one is elsewhere": (
        {0: WAITING, 1: WAITING, 2: WAITING, 3: LOADING},
        Finding(
            3,
            "rank 3 hung: no progress for 600 s, in data.py:12 load; the others wait in all_reduce",
        ),
    ),
    "one of two is elsewhere, and computes": (
        {0: entry("data.py:12 load", busy=True), 1: WAITING},
        Finding(
            0,
            "rank 0 hung: no progress for 600 s, in data.py:12 load, computing; "
            "rank 1 waits in all_reduce",
        ),
    ),
    "several are elsewhere": (
        {0: WAITING, 1: LOADING, 2: LOADING, 3: LOADING, 4: LOADING},
        Finding(
            1,
            "ranks 1, 2, 3 and 4 hung: no progress for 600 s, rank 1 in data.py:12 load, "
            "rank 2 in data.py:12 load, rank 3 in data.py:12 load, 1 more elsewhere; "
            "rank 0 waits in all_reduce",
        ),
    ),
    "it was stopped": (
        {0: WAITING, 1: entry("", state="T")},
        Finding(
            1,
            "rank 1 hung: no progress for 600 s, stopped by a signal (state T); "
            "rank 0 waits in all_reduce",
        ),
    ),
    "its stack could not be read": (
        {0: WAITING, 1: entry("")},
        Finding(
            1,
            "rank 1 hung: no progress for 600 s, where no stack could be read; "
            "rank 0 waits in all_reduce",
        ),
    ),
    "all wait, one has exchanged less": (
        {
            0: {**WAITING, "counts": {"exchanges": 42}},
            1: {**WAITING, "waits": "backward", "counts": {"exchanges": 41}},
        },
        Finding(
            1,
            "rank 1 hung: no progress for 600 s, waiting in backward (train.py:9 step), behind by "
            "1 of its exchanges; rank 0 waits in all_reduce",
        ),
    ),
    "all wait in a step, and one rank's data is loaded beside it": (
        {0: WAITING, 1: {**WAITING, "beside": "data.py:12 load"}},
        Finding(
            1,
            "rank 1 hung: no progress for 600 s, waiting in all_reduce (train.py:9 step), another "
            "thread or process in data.py:12 load; rank 0 waits in all_reduce",
        ),
    ),
    "all wait in different exchanges": (
        {0: {**WAITING, "counts": {"exchanges": 4}}, 1: entry("x.py:1 f", waits="barrier")},
        Finding(
            None,
            "the job hung: no progress for 600 s, and which rank is at fault cannot be told: "
            "rank 0 waiting in all_reduce (train.py:9 step), rank 1 waiting in barrier (x.py:1 f)",
        ),
    ),
    "nobody waits": (
        {0: LOADING, 1: LOADING},
        Finding(
            None,
            "the job hung: no progress for 600 s, and which rank is at fault cannot be told: "
            "rank 0 in data.py:12 load, rank 1 in data.py:12 load",
        ),
    ),
    "nobody waits, one has made fewer steps": (
        {0: {**LOADING, "counts": {"steps": 9}}, 1: {**LOADING, "counts": {"steps": 7}}},
        Finding(
            1, "rank 1 hung: no progress for 600 s, in data.py:12 load, behind by 2 of its steps"
        ),
    ),
}


@pytest.mark.parametrize("how", FOUND)
def test_the_rank_is_named_that_others_wait_for(how: str) -> None:
    entries, expected = FOUND[how]
    assert find(entries, len(entries), 600.0) == expected


def test_ranks_that_have_ended_are_told() -> None:
    expected = "rank 1 hung: no progress for 60 s, in data.py:12 load; rank 0 has ended"
    assert find({1: LOADING}, 2, 60.0) == Finding(1, expected)


class Hosts(Table):
    """Three hosts of two ranks that have begun, and look for hangs."""

    def __init__(self, action: str = WAIT):
        super().__init__(hang_after=600.0, hang_action=action, host_timeout=1e6)
        self.begin()

    def still(self, now: float, hosts: tuple[int, ...] = (0, 1, 2), **changes: Any) -> int:
        """All of these say so; how often they are asked for stacks."""
        states = [self.report(host, now, began=True, still=True, **changes) for host in hosts]
        return int(states[-1]["stacks"])

    def answer(self, now: float, host: int, number: int) -> dict[str, Any]:
        ranks = [{"rank": 2 * host, **WAITING}, {"rank": 2 * host + 1, **WAITING}]
        if host == 1:
            ranks[1].update(LOADING)
        stacks = {"number": number, "ranks": ranks}
        return self.report(host, now, began=True, still=True, stacks=stacks)

    def hung(self, now: float) -> dict[str, Any]:
        number = self.still(now)
        assert number == 1
        return [self.answer(now + 1, host, number) for host in (2, 1, 0)][-1]


REASON = "rank 3 hung: no progress for 600 s, in data.py:12 load; the others wait in all_reduce"


def test_a_hang_is_a_warning_and_no_end_unless_that_was_asked_for() -> None:
    hosts = Hosts()
    assert hosts.hung(700.0)["verdict"] is None
    assert hosts.said[-1] == (
        f"warning: {REASON}; every rank's stack is in the log, and the job goes on "
        "(--hang-action end would end it)"
    )
    said = len(hosts.said)
    hosts.still(2000.0)
    assert len(hosts.said) == said


def test_a_hang_ends_the_job_where_that_was_asked_for() -> None:
    verdict = Hosts(END).hung(700.0)["verdict"]
    assert (verdict["rank"], verdict["host"], verdict["code"]) == (3, "host-2", 1)
    assert (verdict["reason"], verdict["phase"]) == (REASON, "training")


def test_no_job_hangs_of_which_one_host_makes_progress() -> None:
    hosts = Hosts(END)
    assert hosts.still(700.0, (0, 2)) == 0
    assert hosts.report(1, 700.0, began=True, still=False)["verdict"] is None
    assert hosts.still(5000.0, (0, 2)) == 0


def test_progress_while_the_stacks_are_read_takes_the_suspicion_away() -> None:
    hosts = Hosts(END)
    number = hosts.still(700.0)
    hosts.report(0, 700.5, began=True, still=False)
    assert [hosts.answer(701.0, host, number)["verdict"] for host in (1, 2)] == [None, None]
    assert hosts.still(1400.0) == number + 1


def test_hosts_whose_ranks_have_ended_are_not_waited_for() -> None:
    hosts = Hosts(END)
    hosts.report(2, 600.0, began=True, ended=True, evidence={})
    number = hosts.still(700.0, (0, 1))
    assert hosts.answer(701.0, 0, number)["verdict"] is None
    reason = hosts.answer(701.0, 1, number)["verdict"]["reason"]
    assert reason == f"{REASON}; ranks 4 and 5 have ended"


def test_a_host_without_an_answer_does_not_keep_the_others_from_being_told() -> None:
    hosts = Hosts(END)
    number = hosts.still(700.0)
    hosts.answer(701.0, 0, number)
    hosts.answer(701.0, 1, number)
    late = 700.0 + PATIENCE_SECONDS
    assert hosts.report(2, late - 1, began=True, still=True)["verdict"] is None
    assert hosts.report(2, late + 0.1, began=True, still=True)["verdict"]["rank"] == 3


def test_progress_after_a_warning_is_told_and_the_next_hang_too() -> None:
    hosts = Hosts()
    hosts.hung(700.0)
    hosts.report(0, 800.0, began=True, still=False)
    assert hosts.said[-1] == "the ranks make progress again"
    assert hosts.still(1500.0) == 2


def test_hosts_of_a_job_that_does_not_look_for_hangs_are_never_asked() -> None:
    table = Table()
    table.begin()
    assert table.report(0, 90000.0, began=True)["stacks"] == 0
