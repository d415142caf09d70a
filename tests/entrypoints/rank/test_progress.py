"""What a rank counts, and what one without an agent says of standing still."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.rank.progress import Alone, Batches, exchanges


class Group:
    """A process group that counts, as PyTorch's do."""

    def __init__(self, number: int | None):
        self.number = number

    def _get_sequence_number_for_group(self) -> int:
        if self.number is None:
            raise RuntimeError("ProcessGroup does not yet support sequence numbers.")
        return self.number


WORLD, PART, BLIND = Group(42), Group(7), Group(None)


@pytest.mark.parametrize("newer", [True, False], ids=["torch 2", "torch 1.13"])
def test_collectives_are_counted_by_group_and_carriers_that_do_not_count_are_left_out(
    newer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = {WORLD: ("gloo", None), PART: ("gloo", None), BLIND: ("ucc", None)}
    where = {"_world": SimpleNamespace(pg_map=groups)} if newer else {"_pg_map": groups}
    module: Any = SimpleNamespace(GroupMember=SimpleNamespace(WORLD=WORLD), **where)
    monkeypatch.setitem(sys.modules, "torch.distributed.distributed_c10d", module)
    assert exchanges() == {"exchanges": 42, "others": 7}


def test_a_process_without_torch_counts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch.distributed.distributed_c10d", raising=False)
    assert exchanges() == {}


class Rank:
    """A rank without an agent, on a clock of its own."""

    def __init__(self) -> None:
        self.now, self.rank = 0.0, 3
        self.said: list[str] = []
        self.alone = Alone(self, 600.0, lambda: self.now)  # type: ignore[arg-type]

    def say(self, texts: list[str]) -> None:
        self.said += texts

    def look(self, now: float, **counts: int) -> None:
        self.now = now
        self.alone.look(counts)


def test_a_rank_that_stands_still_shows_its_own_stacks_once() -> None:
    rank = Rank()
    rank.look(1.0, steps=5, modules=9)
    rank.look(600.0, steps=5, modules=9)
    assert not rank.said
    rank.look(602.0, steps=5, modules=9)
    assert rank.said[0] == (
        "launch: warning: rank 3 has made no step and no exchange for 600 s; its lines are not "
        "looked at here, and the job goes on"
    )
    here = "test_a_rank_that_stands_still_shows_its_own_stacks_once"
    assert [line for line in rank.said if line.endswith(here)]
    before = len(rank.said)
    rank.look(5000.0, steps=5, modules=9)
    assert len(rank.said) == before


def test_a_rank_that_goes_on_and_stands_still_again_says_so_again() -> None:
    rank = Rank()
    for now, steps in ((1.0, 5), (700.0, 5), (701.0, 6), (1400.0, 6)):
        rank.look(now, steps=steps)
    assert len([line for line in rank.said if "has made no step" in line]) == 2


def test_a_rank_that_counts_nothing_says_nothing() -> None:
    rank = Rank()
    for now in (1.0, 9000.0):
        rank.look(now, modules=9, calls=2)
    assert not rank.said


class Counter:
    """A variable as Keras' Model has it."""

    def __init__(self, number: int):
        self.number = number

    def numpy(self) -> int:
        return self.number


def test_batches_are_those_of_all_models_that_live() -> None:
    class Model:
        _predict_counter = None

        def _init_batch_counters(self, trained: int, tested: int) -> str:
            self._train_counter = Counter(trained)
            # What holds a variable on each of several replicas: this process's own is the first.
            self._test_counter = SimpleNamespace(_values=(Counter(tested), Counter(1000)))
            return "made"

    batches = Batches()
    batches.watch(SimpleNamespace(Model=Model))
    assert batches.counts() == {}
    first, second = Model(), Model()
    assert first._init_batch_counters(5, 2) == "made"
    second._init_batch_counters(10, 0)
    assert batches.counts() == {"batches": 17}
    first._train_counter.number += 1
    assert batches.counts() == {"batches": 18}
    del first
    assert batches.counts() == {"batches": 10}


def test_a_keras_without_counts_is_left_as_it_is() -> None:
    batches = Batches()
    for module in (SimpleNamespace(), SimpleNamespace(Model=object)):
        batches.watch(module)
    assert batches.counts() == {}
