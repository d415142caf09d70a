"""What the hooks tell of Horovod's PyTorch binding, by stand-ins for its optimizer and operations.

Its real ranks are in tests/entrypoints/strategies and in test_real_ranks.py.
"""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.evidence.records import ACCUMULATED, ADASUM, ALL, FP16
from launch_runtime.rank.exchange import REDUCING
from launch_runtime.rank.exchange.torch_hooks import Hooks


class Collector:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.inside: list[str] = []

    def reduced(self, variables: list[Any], group: Any, ways: list[str]) -> None:
        self.told.append(("reduced", variables, group, ways))

    def exchanged(self, tensor: Any, shape: list[int], group: Any, value: Any) -> None:
        self.told.append(("exchanged", tensor, shape, group))

    def sent(self) -> None:
        self.told.append(("sent",))

    def joined(self) -> None:
        self.told.append(("joined",))

    def give_up(self, error: Exception) -> None:
        self.told.append(("gave up", error))

    def is_inside(self, what: str) -> bool:
        return what in self.inside

    @contextmanager
    def within(self, what: str) -> Any:
        self.inside.append(what)
        yield
        self.inside.pop()


class Tensor:
    """One without values."""

    def __init__(self, place: int, *shape: int) -> None:
        self.place, self.shape = place, shape

    def data_ptr(self) -> int:
        return self.place


def optimizer_module(where: list[list[str]], collector: Collector) -> Any:
    """``horovod.torch.optimizer``; its methods write down what they run inside of."""

    class _DistributedOptimizer:
        def _allreduce_grad_async(self, given: Any) -> Any:
            where.append(list(collector.inside))
            return given

        def _grouped_allreduce_grad_async(self, given: Any) -> Any:
            return given

    class _DistributedAdasumOptimizer:
        def _allreduce_grad_async(self, given: Any) -> Any:
            return given

    return SimpleNamespace(
        _DistributedOptimizer=_DistributedOptimizer,
        _DistributedAdasumOptimizer=_DistributedAdasumOptimizer,
    )


@pytest.fixture
def collector() -> Collector:
    return Collector()


@pytest.fixture
def hooks(collector: Collector) -> Hooks:
    found = Hooks(collector)  # type: ignore[arg-type]
    found.tracked = lambda parameter: f"of {parameter}"  # type: ignore[method-assign]
    return found


@pytest.mark.parametrize(
    ("attributes", "ways"),
    [
        ({}, []),
        ({"backward_passes_per_step": 1}, []),
        ({"backward_passes_per_step": 2}, [ACCUMULATED]),
        ({"_compression": type("NoneCompressor", (), {})}, []),
        ({"_compression": type("FP16Compressor", (), {})}, [FP16]),
    ],
)
def test_a_gradient_is_told_with_the_ways_in_which_it_goes(
    hooks: Hooks, collector: Collector, attributes: dict[str, Any], ways: list[str]
) -> None:
    where: list[list[str]] = []
    module = optimizer_module(where, collector)
    hooks.binding(module)
    optimizer = module._DistributedOptimizer()
    vars(optimizer).update(attributes)

    assert optimizer._allreduce_grad_async("weight") == "weight"
    assert collector.told == [("reduced", ["of weight"], ALL, ways)]
    assert (where, collector.inside) == ([[REDUCING]], [])


def test_gradients_that_go_together_are_told_one_by_one_with_their_ranks(
    hooks: Hooks, collector: Collector
) -> None:
    module = optimizer_module([], collector)
    hooks.binding(module)
    optimizer = module._DistributedOptimizer()
    optimizer.process_set = SimpleNamespace(process_set_id=2, ranks=[3, 1])

    assert optimizer._grouped_allreduce_grad_async(["a", "b"]) == ["a", "b"]
    assert optimizer._grouped_allreduce_grad_async(("c",)) == ("c",)
    assert collector.told == [
        ("reduced", ["of a", "of b"], [1, 3], []),
        ("reduced", ["of c"], [1, 3], []),
    ]


def test_adasum_is_told_by_the_optimizer_that_does_it(hooks: Hooks, collector: Collector) -> None:
    module = optimizer_module([], collector)
    hooks.binding(module)
    module._DistributedAdasumOptimizer()._allreduce_grad_async("weight")
    assert collector.told == [("reduced", ["of weight"], ALL, [ADASUM])]


def operations_module() -> Any:
    """``horovod.torch.mpi_ops``, of a version without the grouped ones that reduce and scatter."""
    return SimpleNamespace(
        _allreduce_async=lambda tensor, output, name=None, process_set=None: "one",
        _grouped_allreduce_async=lambda tensors, outputs, name=None, process_set=None: "several",
        _broadcast_async=lambda tensor, output, root_rank: "broadcast",
        join=lambda device=-1: 7,
    )


def test_what_a_script_exchanges_itself_is_told_with_its_shape(
    hooks: Hooks, collector: Collector
) -> None:
    module = operations_module()
    hooks.operations(module)
    one, other = Tensor(64, 2, 3), Tensor(128, 5)

    assert module._allreduce_async(one, one) == "one"
    assert module._grouped_allreduce_async([one, other], [one, other]) == "several"
    assert collector.told == [
        ("exchanged", one, [2, 3], ALL),
        ("exchanged", one, [2, 3], ALL),
        ("exchanged", other, [5], ALL),
    ]


def test_what_the_optimizer_exchanges_is_not_told_twice(hooks: Hooks, collector: Collector) -> None:
    module = operations_module()
    hooks.operations(module)
    with collector.within(REDUCING):
        assert module._allreduce_async(Tensor(64, 2), Tensor(64, 2)) == "one"
    assert collector.told == []


def test_a_broadcast_and_a_join_are_told_and_go_on(hooks: Hooks, collector: Collector) -> None:
    module = operations_module()
    hooks.operations(module)
    assert (module._broadcast_async(1, 1, 0), module.join()) == ("broadcast", 7)
    assert collector.told == [("sent",), ("joined",)]


def test_what_cannot_be_read_of_an_exchange_stops_the_evidence_and_not_the_script(
    hooks: Hooks, collector: Collector
) -> None:
    module = operations_module()
    hooks.operations(module)
    assert module._allreduce_async(object(), object()) == "one"
    assert [kind for kind, *_ in collector.told] == ["gave up"]
