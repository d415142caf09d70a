"""Whose the tensors are that a script sends itself, by stand-ins for optimizers and tensors."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.evidence.records import ALL
from launch_runtime.rank.exchange import torch_sent
from launch_runtime.rank.exchange.torch_memory import GATHERED, Carried
from launch_runtime.rank.exchange.torch_sent import Sent

PAIR = [0, 1]


class Optimizer:
    """One that can be told from others."""


class Weak:
    """A weak reference to a storage of the stand-ins."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def expired(self) -> bool:
        return bool(self._storage.is_gone)


class Tensor:
    """One whose memory is its own until it ``is_gone``."""

    def __init__(self, place: int, *shape: int) -> None:
        self.place, self.shape, self.dtype = place, shape, "float32"
        self.storage = SimpleNamespace(data_ptr=lambda: place, is_gone=False)

    def data_ptr(self) -> int:
        return self.place

    def untyped_storage(self) -> Any:
        return self.storage


@pytest.fixture(autouse=True)
def _memory(monkeypatch: pytest.MonkeyPatch) -> None:
    reductions = SimpleNamespace(StorageWeakRef=Weak)
    monkeypatch.setitem(sys.modules, "torch.multiprocessing.reductions", reductions)  # type: ignore[arg-type]


@pytest.fixture
def nobodys() -> list[Carried]:
    return []


@pytest.fixture
def sent(nobodys: list[Carried]) -> Sent:
    return Sent(nobodys.append)


def send(sent: Sent, tensor: Tensor, group: Any = ALL) -> Carried:
    """As ``all_reduce`` does."""
    given, result = (Carried(tensor, group, tensor.place) for _ in range(2))
    sent.went(given)
    sent.came(result)
    return given


def test_a_gradient_that_went_out_is_its_optimizers_and_nobody_elses(
    sent: Sent, nobodys: list[Carried]
) -> None:
    optimizer, gradient, other = Optimizer(), Tensor(64, 2), Tensor(128, 2)
    for tensor in (gradient, other):
        send(sent, tensor)
    assert sent.claim(optimizer, 64, gradient) == [ALL]
    assert sent.result_at(optimizer, 64, gradient)
    assert sent.given_at(optimizer, 64, gradient)
    sent.end()
    assert [one.place for one in nobodys] == [128]


def test_a_buffer_of_many_gradients_is_not_that_of_the_one_it_begins_with(
    sent: Sent, nobodys: list[Carried]
) -> None:
    send(sent, Tensor(64, 12))
    assert sent.claim(Optimizer(), 64, Tensor(64, 2)) == [ALL]
    sent.end()
    assert [one.shape for one in nobodys] == [(12,)]


def test_what_a_thread_sends_meanwhile_disturbs_nothing(sent: Sent) -> None:
    optimizer, there = Optimizer(), Tensor(64, 2)
    send(sent, there)
    sent.stepped(optimizer)

    class Asked(Weak):
        """A thread sends another one as this one's memory is asked for."""

        def expired(self) -> bool:
            send(sent, Tensor(4096 + 64 * len(sent._went), 2))
            return False

    send(sent, there)._storage = Asked(there.storage)
    sent.stepped(optimizer)
    assert len(sent._went) > 1


def test_all_groups_are_told_over_which_a_gradient_went(sent: Sent) -> None:
    gradient = Tensor(64, 2)
    for group in (PAIR, ALL):
        send(sent, gradient, group)
    assert sent.claim(Optimizer(), 64, gradient) == [PAIR, ALL]


def test_what_is_still_there_waits_for_its_own_optimizers_step(
    sent: Sent, nobodys: list[Carried]
) -> None:
    first, second = Optimizer(), Optimizer()
    own, theirs = Tensor(64, 2), Tensor(128, 2)
    for tensor in (own, theirs):
        send(sent, tensor)
    sent.claim(first, 64, own)
    sent.stepped(first)
    assert sent.claim(second, 128, theirs) == [ALL]
    sent.stepped(second)
    sent.end()
    assert nobodys == []


def test_what_is_gone_is_nobodys_after_the_next_step(sent: Sent, nobodys: list[Carried]) -> None:
    gone = Tensor(64, 2)
    send(sent, gone)
    gone.storage.is_gone = True
    sent.stepped(Optimizer())
    assert [one.place for one in nobodys] == [64]
    assert not sent


def test_what_an_optimizer_has_left_for_a_step_is_nobodys(
    sent: Sent, nobodys: list[Carried]
) -> None:
    optimizer, buffer = Optimizer(), Tensor(64, 20)
    for steps in range(3):
        send(sent, buffer)
        sent.stepped(optimizer)
        assert len(nobodys) == steps


def test_a_gradient_of_the_step_before_was_not_sent_in_this_one(sent: Sent) -> None:
    optimizer, gradient = Optimizer(), Tensor(64, 2)
    send(sent, gradient)
    sent.stepped(optimizer)
    assert sent.claim(optimizer, 64, gradient) == []
    assert sent.result_at(optimizer, 64, gradient) is None
    assert sent.claim(Optimizer(), 64, gradient) == [ALL], "a second optimizer of it"


def test_of_sparse_gradients_that_have_no_place_the_shape_is_known(sent: Sent) -> None:
    optimizer, gradient = Optimizer(), Tensor(0, 2, 3)
    send(sent, gradient)
    assert sent.claim(optimizer, 0, Tensor(0, 3, 2)) == []
    assert sent.claim(optimizer, 0, gradient) == [ALL]
    assert sent.given_at(optimizer, 0, gradient) is None


@pytest.mark.parametrize(("is_gone", "told"), [(False, []), (True, [64])])
def test_values_that_were_sent_ahead_of_the_training_are_no_part_of_it(
    sent: Sent, nobodys: list[Carried], is_gone: bool, told: list[int]
) -> None:
    values = Tensor(64, 2)
    send(sent, values)
    values.storage.is_gone = is_gone
    sent.forget_values(64)
    sent.end()
    assert [one.place for one in nobodys] == told


def test_where_there_is_no_room_to_wait_a_tensor_is_nobodys_at_once(
    sent: Sent, nobodys: list[Carried], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_sent, "MOST", 1)
    for place in (64, 128):
        send(sent, Tensor(place, 2))
    assert [one.place for one in nobodys] == [128]


def test_what_is_known_by_now_waits_for_nobody(sent: Sent, nobodys: list[Carried]) -> None:
    sent.went(Carried(Tensor(64, 2), ALL, 64), is_claimed=True)
    sent.end()
    assert nobodys == []


def test_a_gradient_that_was_changed_since_its_step_is_no_longer_what_was_sent(sent: Sent) -> None:
    """Zeroed in its place and computed anew, for a further optimizer."""
    gradient: Any = Tensor(64, 2)
    gradient._version = 3
    send(sent, gradient)
    first = Optimizer()
    assert sent.claim(first, 64, gradient) == [ALL]
    sent.stepped(first)
    gradient._version = 5
    second = Optimizer()
    assert sent.claim(second, 64, gradient) == []
    assert sent.result_at(second, 64, gradient) is None


@pytest.mark.parametrize(
    ("sizes", "group"),
    [
        ([(4, 3), (3,)], ALL),
        ([(4, 3)], ALL),
        ([(3,)], None),
        ([(15,)], ALL),
        ([(14,)], None),
        ([], None),
    ],
    ids=["all", "most", "few", "all in one", "something else", "nothing"],
)
def test_what_is_like_most_of_the_gradients_may_be_copies_of_them(
    sent: Sent, sizes: list[tuple[int, ...]], group: Any
) -> None:
    for place, shape in enumerate(sizes, 10):
        send(sent, Tensor(64 * place, *shape))
    gradients = [Tensor(64, 4, 3), Tensor(128, 3)]
    assert sent.like(Optimizer(), gradients) == group


def test_what_is_gathered_is_not_taken_for_copies_of_gradients(sent: Sent) -> None:
    """Such as each rank's part of the weights, with DeepSpeed."""
    sent.went(Carried(Tensor(64, 4), ALL, 64, GATHERED))
    assert sent.like(Optimizer(), [Tensor(128, 4)]) is None


def test_an_empty_tensor_is_like_no_gradient(sent: Sent) -> None:
    send(sent, Tensor(64, 0))
    assert sent.like(Optimizer(), []) is None


def test_what_was_sent_ahead_of_the_step_before_is_like_nothing(sent: Sent) -> None:
    optimizer, gradient = Optimizer(), Tensor(64, 4)
    send(sent, Tensor(128, 4))
    sent.stepped(optimizer)
    assert sent.like(optimizer, [gradient]) is None
