"""What a process's record says of gradients that went out, by stand-ins for its tensors."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from launch_runtime.evidence.records import ALL
from launch_runtime.rank.exchange import BROADCAST, devices
from launch_runtime.rank.exchange.collector import Collector
from launch_runtime.rank.exchange.devices import Use
from launch_runtime.rank.exchange.variables import UNKNOWN


class Tensor:
    """Something that a weak reference can be made to."""


class Rank:
    """A process with one variable, or several, and an optimizer."""

    def __init__(self, elements: tuple[int, ...] = (4,)) -> None:
        self.told: list[dict[str, Any]] = []
        self.collector = Collector(self.told.append)
        self.optimizer, self._kept = Tensor(), [Tensor() for _ in elements]
        keep = self.collector.variables.keep
        self.variables = [
            keep(kept, (count,), lambda count=count: numpy.ones(count))
            for kept, count in zip(self._kept, elements, strict=True)
        ]

    def step(self, send: Any, apply: Any, **how: Any) -> None:
        """Computes gradients, exchanges those of ``send``, applies what ``apply`` gives of each:
        "raw", "mean", or another one for what the script has made of it."""
        count = len(self.variables)
        gradients, means = [Tensor() for _ in range(count)], [Tensor() for _ in range(count)]
        self.collector.computed(gradients, self.variables)
        for index in send:
            self.collector.exchanged(gradients[index], [4], ALL)
            self.collector.arrived(means[index], ALL)
        given = {"raw": gradients, "mean": means}.get(apply) or [Tensor() for _ in range(count)]
        if not self.collector.is_known(self.optimizer, count):
            pairs = list(zip(given, self.variables, strict=True))
            self.collector.applied(self.optimizer, "SGD", pairs, None, **how)

    def is_wasted(self) -> bool:
        """What its last record says."""
        self.collector.finish()
        (one,) = self.told[-1]["sets"]
        assert one["how"] == "gradients"
        return bool(one["wasted"])


@pytest.mark.parametrize(
    ("apply", "how", "wasted"),
    [
        ("raw", {}, True),
        ("mean", {}, False),
        ("clipped", {}, False),
        ("raw", {"reduces": True}, False),
    ],
    ids=["as it was", "its mean", "something else", "by an optimizer that reduces"],
)
def test_a_gradient_that_went_out_and_is_applied_as_it_was_is_wasted(
    apply: str, how: dict[str, Any], wasted: bool
) -> None:
    rank = Rank()
    rank.step([0], apply, **how)
    assert rank.is_wasted() is wasted


def test_means_that_come_to_be_applied_end_it() -> None:
    """As in a script whose first steps are each rank's own."""
    rank = Rank()
    rank.step([], "raw")
    rank.step([0], "mean")
    assert not rank.is_wasted()


def test_what_reduced_the_gradients_of_a_variable_is_believed() -> None:
    rank = Rank()
    rank.step([0], "raw")
    rank.collector.reduced(rank.variables, ALL)
    assert not rank.is_wasted()


@pytest.mark.parametrize(
    ("group", "changed_at"), [(BROADCAST, None), (ALL, None), ([0, 1], None), ([0], UNKNOWN)]
)
def test_a_value_that_came_from_other_ranks_is_no_change_by_the_script(
    group: Any, changed_at: Any
) -> None:
    rank, came = Rank(), Tensor()
    rank.step([0], "mean")
    rank.collector.arrived(came, group)
    rank.collector.assigned(rank.variables[0], came)
    assert rank.variables[0].changed_at == changed_at


def test_averaged_weights_stand_beside_gradients_that_were_looked_at() -> None:
    rank = Rank()
    rank.step([0], "raw")
    mean = Tensor()
    rank.collector.arrived(mean, ALL)
    rank.collector.assigned(rank.variables[0], mean)
    assert not rank.is_wasted()


@pytest.mark.parametrize(("elements", "wasted"), [((4, 4), True), ((3, 4), False)])
def test_half_of_the_elements_must_be_wasted(elements: tuple[int, int], wasted: bool) -> None:
    rank = Rank(elements)
    rank.step([0], "raw")
    assert rank.is_wasted() is wasted


def test_of_an_optimizer_that_was_not_told_nothing_is_kept() -> None:
    rank = Rank()
    rank.collector.unfollowed(rank.optimizer, 1, [(Tensor(), rank.variables[0], ALL)], id)
    assert rank.variables[0].hows == set()


def test_what_is_trained_is_told_in_the_second_step_once() -> None:
    """Early, and not while a function is traced, whose variables may not be there yet."""
    rank = Rank()
    for step in range(20):
        rank.collector.sampled("losses", lambda step=step: step)
        rank.step([0], "mean")
        seen = [bool(record["sets"]) for record in rank.told]
        assert seen == ([False] if step < 1 else [False, True])


def test_before_anything_trained_went_out_nothing_is_told_early() -> None:
    rank = Rank()
    for step in range(20):
        rank.collector.sampled("losses", lambda step=step: step)
        rank.step([], "raw")
    assert rank.told == []


def test_a_gpu_that_was_used_once_is_never_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    uses = [Use([], "CUDA is missing"), Use(["a"], "", True), Use([], "CUDA is missing")]
    rank = Rank()
    for use in uses:
        monkeypatch.setattr(devices, "look", lambda _, use=use: use)
        rank.step([0], "mean")
        rank.collector.finish()
    told = [record["idle_gpu"] for record in rank.told if record["final"]]
    assert told == ["CUDA is missing", "", ""]


class Sets(Rank):
    """A process whose variable several optimizers train."""

    def record(self) -> list[dict[str, Any]]:
        self.collector.finish()
        return list(self.told[-1]["sets"])

    def by_another(self, send: Any, apply: Any, **how: Any) -> None:
        self.optimizer = Tensor()
        self.step(send, apply, **how)


@pytest.mark.parametrize(
    ("send", "apply", "how", "exchanged"),
    [
        ([], "raw", {}, 0),
        ([0], "mean", {}, 1),
        ([0], "clipped", {}, 1),
        ([], "raw", {"reduces": True}, 1),
    ],
    ids=["its own gradient", "a mean", "what was made of one", "by an optimizer that reduces"],
)
def test_a_further_optimizer_counts_for_itself(
    send: list[int], apply: str, how: dict[str, Any], exchanged: int
) -> None:
    rank = Sets()
    first = rank.optimizer
    rank.step([0], "mean")
    rank.step([0], "mean")
    rank.by_another(send, apply, **how)
    rank.by_another(send, apply, **how)
    assert first is not rank.optimizer
    assert [one["exchanged"] for one in rank.record()] == [1, exchanged, exchanged]


def test_a_further_optimizer_whose_first_step_alone_is_its_own_trains_together() -> None:
    rank = Sets()
    rank.step([0], "mean")
    rank.by_another([], "raw")
    rank.step([0], "mean")
    assert [one["exchanged"] for one in rank.record()] == [1, 1]


def test_weights_that_were_averaged_before_a_further_optimizer_began_are_none_of_its_exchange() -> (
    None
):
    rank = Sets()
    rank.step([0], "mean")
    (variable,) = rank.variables
    rank.collector.exchanged(Tensor(), [4], ALL, variable)
    rank.by_another([], "raw")
    assert [one["exchanged"] for one in rank.record()] == [1, 0]


def test_weights_that_are_averaged_after_a_further_optimizers_steps_are_its_exchange() -> None:
    rank = Sets()
    rank.step([0], "mean")
    rank.by_another([], "raw")
    (variable,) = rank.variables
    rank.collector.exchanged(Tensor(), [4], ALL, variable)
    assert [one["how"] for one in rank.record()] == ["gradients", "weights"]


@pytest.mark.parametrize(("send", "apply", "on"), [([], "raw", [0]), ([0], "mean", [])])
def test_what_a_further_optimizer_trains_on_is_told_with_its_weights(
    send: list[int], apply: str, on: list[int]
) -> None:
    rank = Sets()
    rank.step([0], "mean")
    rank.by_another(send, apply)
    first, second = rank.record()
    assert (first["weights"]["on"], second["weights"]["on"]) == (on, [])
    assert (first["later"], second["later"]) == (False, True)
    assert second["weights"]["kept"] == [0]


def test_a_variable_whose_gradient_stays_here_is_told_beside_those_that_go() -> None:
    rank = Rank((4, 6, 8))
    rank.step([0, 2], "mean")
    rank.collector.finish()
    (one,) = rank.told[-1]["sets"]
    assert (one["exchanged"], one["lone"]) == (2, [1, 6])
    assert (one["weights"]["sure"], one["weights"]["lone"]) == ([0, 2], [1])
    assert sorted(one["weights"]["kept"]) == [0, 1, 2]


def test_a_variable_without_a_gradient_is_not_told() -> None:
    rank = Rank((4, 6))
    first, second = rank.variables
    gradient, mean = Tensor(), Tensor()
    rank.collector.computed([gradient, None], rank.variables)
    rank.collector.exchanged(gradient, [4], ALL)
    rank.collector.arrived(mean, ALL)
    rank.collector.applied(rank.optimizer, "SGD", [(mean, first), (None, second)], None)
    rank.collector.finish()
    assert rank.told[-1]["sets"][0]["lone"] == [0, 0]


@pytest.mark.parametrize(
    ("gathered", "traced", "rare"), [(1, False, True), (5, False, False), (1, True, False)]
)
def test_exchanges_of_nobody_are_rare_at_less_than_half_of_the_steps(
    gathered: int, traced: bool, rare: bool
) -> None:
    rank = Rank()
    pairs = [(Tensor(), rank.variables[0])]
    rank.collector.applied(rank.optimizer, "SGD", pairs, lambda: 10)
    rank.collector.exchanged(Tensor(), [2], ALL)  # a metric
    for _ in range(gathered):
        rank.collector.exchanged(Tensor(), [100], ALL, is_traced=traced)
    rank.collector.finish()
    assert rank.told[-1]["rare"] is rare


def test_where_nobody_counts_steps_nothing_is_rare() -> None:
    rank = Rank()
    rank.step([], "raw")
    rank.collector.finish()
    assert rank.told[-1]["rare"] is False


def test_exchanges_of_nobody_count_once_a_step_where_steps_are_told() -> None:
    """A score of batches is evaluated after each epoch."""
    rank = Rank()
    pairs = [(Tensor(), rank.variables[0])]
    for step in range(10):
        rank.collector.applied(rank.optimizer, "SGD", pairs, lambda: 10)
        for _ in range(20 if step in (4, 9) else 0):
            rank.collector.nobodys((100,), ALL)
        rank.collector.stepped()
    rank.collector.finish()
    assert rank.told[-1]["rare"] is True
    assert rank.told[-1]["other"] == [[ALL, 100]]


def test_exchanges_of_nobody_before_steps_are_told_count_as_one() -> None:
    rank = Rank()
    for _ in range(20):
        rank.collector.nobodys((100,), ALL)
    rank.collector.applied(rank.optimizer, "SGD", [(Tensor(), rank.variables[0])], lambda: 4)
    rank.collector.stepped()
    rank.collector.finish()
    assert rank.told[-1]["rare"] is True


@pytest.mark.parametrize(("others", "is_told"), [(False, True), (True, False)])
def test_gradients_that_seldom_go_are_told_where_nothing_else_does(
    others: bool, is_told: bool
) -> None:
    rank = Rank()
    rank.step([0], "mean")
    if others:
        rank.collector.exchanged(Tensor(), [4], ALL, rank.variables[0])
    rank.collector.seldom(rank.optimizer, True)
    rank.collector.finish()
    assert rank.told[-1]["sets"][0]["seldom"] is is_told
    rank.collector.seldom(rank.optimizer, False)
    rank.step([0], "mean")
    rank.collector.finish()
    assert rank.told[-1]["sets"][0]["seldom"] is False


@pytest.mark.parametrize(
    ("likes", "looks", "is_told"), [(1, 2, True), (1, 3, False), (2, 4, True), (0, 1, False)]
)
def test_what_is_like_gradients_says_something_where_it_goes_at_every_second_look(
    likes: int, looks: int, is_told: bool
) -> None:
    rank = Rank()
    rank.step([0], "mean")
    for step in range(1, looks + 1):
        if step > looks - likes:
            sent = [(Tensor(), rank.variables[0], ALL)]
            rank.collector.followed(rank.optimizer, step, sent, lambda _: numpy.ones(4), "like")
        rank.collector.took(rank.optimizer, rank.variables)
    rank.collector.finish()
    applied = rank.told[-1]["sets"][0].get("applied")
    assert bool(applied) is is_told
    assert not applied or (applied["step"], applied["what"]) == (looks, "like")
