"""Whether what came from other ranks can be in what was trained, by stand-ins for tensors."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from launch_runtime.evidence.records import ALL
from launch_runtime.rank.exchange import BROADCAST
from launch_runtime.rank.exchange.collector import Collector
from launch_runtime.rank.exchange.horovod_hooks import group_of
from launch_runtime.rank.exchange.variables import Variable


class Tensor:
    """Something that a weak reference can be made to."""

    shape = (4,)


class Rank:
    """A process with one variable of four elements, and an optimizer that counts its steps."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.collector = Collector(self.told.append)
        self.optimizer, self.kept, self.steps = Tensor(), Tensor(), 0
        self.variable = self.keep(self.kept)

    def keep(self, found: Tensor) -> Variable:
        return self.collector.variables.keep(found, (4,), lambda: numpy.ones(4))

    def compute(self, is_part: bool = False) -> Tensor:
        gradient = Tensor()
        self.collector.computed([gradient], [self.variable], is_part)
        return gradient

    def apply(self, gradient: Tensor) -> None:
        pairs = [(gradient, self.variable)]
        self.collector.applied(self.optimizer, "SGD", pairs, lambda: self.steps)
        self.steps += 1

    def send(self, shape: tuple[int, ...] = (4,), **how: Any) -> Tensor:
        """Something goes of which nobody knows whose it is."""
        tensor = Tensor()
        self.collector.exchanged(tensor, shape, ALL, **how)
        return tensor

    def weights(self) -> Tensor:
        """The variable's value goes; gives what comes back."""
        self.collector.exchanged(self.kept, (4,), ALL, self.variable)
        came = Tensor()
        self.collector.arrived(came, ALL)
        return came

    def last(self) -> dict[str, Any]:
        self.collector.finish()
        assert not self.collector.broken
        (one,) = self.told[-1]["sets"]
        return dict(one)


def steps(rank: Rank, number: int = 1) -> None:
    """Each rank's own."""
    for _ in range(number):
        rank.apply(rank.compute())


def clipped_as_it_went(rank: Rank) -> None:
    for _ in range(2):
        rank.compute()
        clipped = rank.send()
        rank.apply(clipped)


def summed_as_it_went(rank: Rank) -> None:
    total = Tensor()
    for _ in range(2):
        rank.collector.summed(total, rank.compute())
        rank.collector.exchanged(total, (4,), ALL)
        rank.apply(total)
    rank.send()
    steps(rank)


def copies_between_steps(rank: Rank) -> None:
    steps(rank)
    rank.send()
    steps(rank)


def in_a_function(rank: Rank) -> None:
    steps(rank)
    rank.send((100, 3), is_traced=True)


def values_that_nobody_puts_back(rank: Rank) -> None:
    steps(rank)
    rank.weights()
    steps(rank)


def start_weights(rank: Rank) -> None:
    """As a callback broadcasts them after the first batch."""
    steps(rank)
    rank.collector.overwritten(rank.kept, rank.variable)
    came = Tensor()
    rank.collector.arrived(came, BROADCAST)
    rank.collector.assigned(rank.variable, came, is_traced=True)
    rank.send()
    steps(rank)


def of_a_layer(rank: Rank) -> None:
    """Whose exchange is not seen, and its gradient's."""
    rank.collector.came_back(is_of_horovod=True)
    copies_between_steps(rank)


@pytest.mark.parametrize(
    "train",
    [
        clipped_as_it_went, summed_as_it_went, copies_between_steps, in_a_function,
        values_that_nobody_puts_back, start_weights, of_a_layer,
    ],
)  # fmt: skip
def test_own_gradients_alone_came_into_variables(train: Callable[[Rank], None]) -> None:
    rank = Rank()
    train(rank)
    told = rank.last()
    assert (told["shut"], told["given"]) == (True, False)
    assert told["weights"]["kept"] == [0]


def nothing_went(rank: Rank) -> None:
    steps(rank, 2)


def a_metric_went(rank: Rank) -> None:
    steps(rank)
    rank.send((10,))
    rank.send(())
    steps(rank)


def at_the_end(rank: Rank) -> None:
    """Averages that are saved."""
    steps(rank, 2)
    rank.send()


def another_gradient(rank: Rank) -> None:
    copies_between_steps(rank)
    rank.apply(Tensor())


def a_mean(rank: Rank) -> None:
    copies_between_steps(rank)
    mean = Tensor()
    rank.collector.arrived(mean, ALL)
    rank.apply(mean)


def a_sum_that_became_a_mean(rank: Rank) -> None:
    total = Tensor()
    for _ in range(2):
        rank.collector.summed(total, rank.compute())
        rank.collector.exchanged(total, (4,), ALL)
        rank.collector.held(total, None, is_new=True)
        rank.apply(total)
    rank.send()
    steps(rank)


def a_part_of_a_loss(rank: Rank) -> None:
    copies_between_steps(rank)
    rank.apply(rank.compute(is_part=True))


def through_an_exchange(rank: Rank) -> None:
    steps(rank)
    rank.send()
    rank.collector.came_back(is_of_horovod=True)
    steps(rank)


def through_one_of_the_script(rank: Rank) -> None:
    rank.collector.came_back(is_of_horovod=False)
    copies_between_steps(rank)


def values_in_the_loss(rank: Rank) -> None:
    """As one that pulls each rank's weights to their mean."""
    for _ in range(2):
        rank.weights()
        rank.collector.came_back(is_of_horovod=True)
        steps(rank)


def a_variable_made_since(rank: Rank) -> None:
    """A model a round, made of the averages of the one before."""
    copies_between_steps(rank)
    rank.kept = Tensor()
    rank.collector.reach_made(rank.kept)
    rank.variable, rank.optimizer = rank.keep(rank.kept), Tensor()
    steps(rank, 2)


def a_model_that_nobody_trains_yet(rank: Rank) -> None:
    copies_between_steps(rank)
    rank.collector.held(Tensor(), None, is_new=True)


def a_variable_of_an_unknown_shape(rank: Rank) -> None:
    copies_between_steps(rank)
    rank.collector.held(SimpleNamespace(shape=None), None, is_new=True)


@pytest.mark.parametrize(
    "train",
    [
        nothing_went, a_metric_went, at_the_end, another_gradient, a_mean,
        a_variable_of_an_unknown_shape,
        a_sum_that_became_a_mean, a_part_of_a_loss, through_an_exchange, through_one_of_the_script,
        values_in_the_loss, a_variable_made_since, a_model_that_nobody_trains_yet,
    ],
)  # fmt: skip
def test_what_came_may_be_in_variables(train: Callable[[Rank], None]) -> None:
    rank = Rank()
    train(rank)
    rank.collector.finish()
    assert not rank.collector.broken
    assert not any(one["shut"] or one["unused"] for one in rank.told[-1]["sets"])


@pytest.mark.parametrize("way", ["an average", "something", "a broadcast"])
@pytest.mark.parametrize("steps_since", [0, 1])
def test_values_that_the_script_gives_are_told_where_steps_come_after(
    way: str, steps_since: int
) -> None:
    rank = Rank()
    steps(rank)
    came = rank.weights()
    if way == "a broadcast":
        rank.collector.overwritten(rank.kept, rank.variable)
    else:
        rank.collector.assigned(rank.variable, came if way == "an average" else Tensor())
    steps(rank, steps_since)
    assert (rank.last()["shut"], rank.last()["given"]) == (False, bool(steps_since))


def test_a_set_that_this_rank_is_not_in_reaches_nobody() -> None:
    def of(included: bool) -> Any:
        return group_of(SimpleNamespace(process_set_id=1, ranks=[0, 1], included=lambda: included))

    assert (of(True), of(False)) == ([0, 1], [])
