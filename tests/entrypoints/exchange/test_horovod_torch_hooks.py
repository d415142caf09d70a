"""What the hooks tell of Horovod's PyTorch binding, by stand-ins for its optimizer and operations.

Its real ranks are in tests/entrypoints/strategies and in test_real_ranks.py.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.evidence.records import ACCUMULATED, ADASUM, ALL, FP16
from launch_runtime.rank.exchange import REDUCING
from launch_runtime.rank.exchange.horovod_torch_hooks import Binding
from launch_runtime.rank.exchange.torch_hooks import Hooks

from tests.entrypoints.exchange.told import Collector, Tensor


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
def binding(collector: Collector) -> Binding:
    hooks = Hooks(collector)  # type: ignore[arg-type]
    hooks.tracked = lambda parameter: f"of {parameter}"  # type: ignore[method-assign]
    return Binding(collector, hooks)  # type: ignore[arg-type]


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
    binding: Binding, collector: Collector, attributes: dict[str, Any], ways: list[str]
) -> None:
    where: list[list[str]] = []
    module = optimizer_module(where, collector)
    binding.optimizers(module)
    optimizer = module._DistributedOptimizer()
    vars(optimizer).update(attributes)

    assert optimizer._allreduce_grad_async("weight") == "weight"
    assert collector.told == [("reduced", ["of weight"], ALL, ways)]
    assert (where, collector.inside) == ([[REDUCING]], [])


def test_gradients_that_go_together_are_told_one_by_one_with_their_ranks(
    binding: Binding, collector: Collector
) -> None:
    module = optimizer_module([], collector)
    binding.optimizers(module)
    optimizer = module._DistributedOptimizer()
    optimizer.process_set = SimpleNamespace(process_set_id=2, ranks=[3, 1])

    assert optimizer._grouped_allreduce_grad_async(["a", "b"]) == ["a", "b"]
    assert optimizer._grouped_allreduce_grad_async(("c",)) == ("c",)
    assert collector.told == [
        ("reduced", ["of a", "of b"], [1, 3], []),
        ("reduced", ["of c"], [1, 3], []),
    ]


def test_adasum_is_told_by_the_optimizer_that_does_it(
    binding: Binding, collector: Collector
) -> None:
    module = optimizer_module([], collector)
    binding.optimizers(module)
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
    binding: Binding, collector: Collector
) -> None:
    module = operations_module()
    binding.operations(module)
    one, other = Tensor(64, 2, 3), Tensor(128, 5)

    assert module._allreduce_async(one, other) == "one"
    assert module._grouped_allreduce_async([one, other], [one, other]) == "several"
    assert collector.told == [("sent",)] * 3

    binding._hooks.end()  # and until then it may have been a gradient
    assert collector.told[3:] == [
        ("nobodys", (2, 3), ALL),
        ("nobodys", (2, 3), ALL),
        ("nobodys", (5,), ALL),
    ]


def test_what_the_optimizer_exchanges_is_not_told_twice(
    binding: Binding, collector: Collector
) -> None:
    module = operations_module()
    binding.operations(module)
    with collector.within(REDUCING):
        assert module._allreduce_async(Tensor(64, 2), Tensor(64, 2)) == "one"
    assert collector.told == []


def test_a_broadcast_and_a_join_are_told_and_go_on(binding: Binding, collector: Collector) -> None:
    module = operations_module()
    binding.operations(module)
    assert (module._broadcast_async(1, 1, 0), module.join()) == ("broadcast", 7)
    assert collector.told == [("sent",), ("joined",)]


def test_what_a_version_of_horovod_does_not_have_is_left_out(binding: Binding) -> None:
    operations, optimizer = SimpleNamespace(), SimpleNamespace()
    binding.operations(operations)
    binding.optimizers(optimizer)
    assert vars(operations) == vars(optimizer) == {}


def test_what_cannot_be_read_of_an_exchange_stops_the_evidence_and_not_the_script(
    binding: Binding, collector: Collector
) -> None:
    module = operations_module()
    binding.operations(module)
    assert module._allreduce_async(object(), object()) == "one"
    assert [kind for kind, *_ in collector.told] == ["gave up"]
