from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from entrypoints.lib import agreement
from entrypoints.lib.agreement import Agreement, Decision
from entrypoints.lib.ranks import Ranks
from tests.entrypoints.lib.thread_ranks import Exchange, ThreadRanks


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def stepping(
    clocks: list[Clock],
    steps: int,
    seconds_a_step: Callable[[int, int], float],
    stop_at: dict[int, int] | None = None,
    minutes: float | None = None,
) -> tuple[Exchange, list[list[tuple[int, Decision]]]]:
    """What each rank was told, and after which step (from 1); no step after one that ends it."""
    exchange = Exchange(len(clocks))
    told: list[list[tuple[int, Decision]]] = [[] for _ in clocks]
    stop_at = stop_at or {}

    def train(rank: int) -> None:
        clock, at = clocks[rank], 0
        ranks = ThreadRanks(exchange, rank)
        mine = Agreement(ranks, lambda: at >= stop_at.get(rank, steps + 1), minutes, clock)
        for at in range(1, steps + 1):
            clock.now += seconds_a_step(rank, at)
            decision = mine.after_step()
            if decision != Decision():
                told[rank].append((at, decision))
            if decision.save:
                mine.saved()
            if decision.stopped:
                return

    threads = [threading.Thread(target=train, args=(rank,)) for rank in range(len(clocks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return exchange, told


@pytest.fixture(autouse=True)
def one_process_has_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ranks, "of_this_process", None)


def test_any_ranks_signal_ends_all_after_the_same_step() -> None:
    """Rank 1 is told after step 37; clocks differ, and the pace of rank 0 counts."""
    clocks = [Clock(), Clock(), Clock()]
    _, told = stepping(clocks, 100, lambda rank, at: 0.1 * (rank + 1), stop_at={1: 37})
    assert told[0] == told[1] == told[2]
    ((step, decision),) = told[0]
    assert decision == Decision(stopped=(1,))
    assert 37 <= step <= 37 + agreement.SECONDS_BETWEEN / 0.1


def test_all_who_were_told_are_named() -> None:
    _, told = stepping([Clock(), Clock()], 9, lambda rank, at: 2.0, stop_at={0: 4, 1: 4})
    assert told == [[(4, Decision(stopped=(0, 1)))]] * 2


def test_there_is_about_an_exchange_a_second_though_a_second_has_a_thousand_steps() -> None:
    exchange, told = stepping([Clock(), Clock()], 20_000, lambda rank, at: 0.001)
    assert told == [[], []]
    assert 20 <= exchange.count <= 20 + 6  # four times as many steps from each to the next


def test_slow_steps_are_followed_by_an_exchange_each() -> None:
    exchange, _ = stepping([Clock(), Clock()], 30, lambda rank, at: 2.5)
    assert exchange.count == 30


def test_a_pace_that_falls_delays_one_exchange_alone() -> None:
    """A hundred steps a second, then one a second."""
    exchange, _ = stepping([Clock(), Clock()], 600, lambda rank, at: 0.01 if at < 500 else 1.0)
    assert exchange.count <= 8 + (600 - 500)
    _, told = stepping(
        [Clock(), Clock()], 900, lambda rank, at: 0.01 if at < 500 else 1.0, stop_at={0: 700}
    )
    assert [step for step, _ in told[0]] == [700]


def test_the_clock_of_rank_0_decides_when_a_checkpoint_is_due() -> None:
    """Its steps take 6 s, the other's clock doesn't move."""
    _, told = stepping(
        [Clock(), Clock()], 40, lambda rank, at: 6.0 if rank == 0 else 0.0, minutes=1.0
    )
    expected = [(step, Decision(save=True)) for step in (10, 20, 30, 40)]
    assert told == [expected, expected]


def test_one_rank_asks_nobody_and_knows_after_each_step() -> None:
    exchange, told = stepping([Clock()], 1000, lambda rank, at: 0.001, stop_at={0: 333})
    assert exchange.count == 0
    assert told == [[(333, Decision(stopped=(0,)))]]


def test_an_epochs_end_is_always_an_exchange_and_counts_for_no_pace() -> None:
    clock, asked = Clock(), 0

    class Alone(ThreadRanks):
        def gather(self, value: Any) -> list[Any]:
            nonlocal asked
            asked += 1
            return [value, value]

    ranks = Alone(Exchange(2), 0)
    mine = Agreement(ranks, lambda: False, None, clock)
    for _ in range(1000):
        clock.now += 0.01
        mine.after_step()
    before = asked
    clock.now += 500.0  # a validation
    mine.after_epoch()
    assert asked == before + 1
    for _ in range(99):
        clock.now += 0.01
        mine.after_step()
    assert asked == before + 1
