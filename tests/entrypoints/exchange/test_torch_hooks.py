"""What the hooks tell of Horovod's PyTorch binding, by stand-ins for its optimizer and operations.

Its real ranks are in tests/entrypoints/strategies and in test_real_ranks.py.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.evidence.records import ACCUMULATED, ADASUM, ALL, FP16
from launch_runtime.rank.exchange import REDUCING, torch_hooks
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

    def applied(
        self, owner: Any, name: str, pairs: list[tuple[Any, Any]], steps: Callable[[], int]
    ) -> None:
        self.told.append(("applied", name, steps()))

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
def hooks(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    monkeypatch.setattr(torch_hooks, "untraced", lambda original, watched: watched)
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

    assert module._allreduce_async(one, other) == "one"
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


def test_what_a_version_of_horovod_does_not_have_is_left_out(hooks: Hooks) -> None:
    operations, optimizer = SimpleNamespace(), SimpleNamespace()
    hooks.operations(operations)
    hooks.binding(optimizer)
    assert vars(operations) == vars(optimizer) == {}


def test_what_cannot_be_read_of_an_exchange_stops_the_evidence_and_not_the_script(
    hooks: Hooks, collector: Collector
) -> None:
    module = operations_module()
    hooks.operations(module)
    assert module._allreduce_async(object(), object()) == "one"
    assert [kind for kind, *_ in collector.told] == ["gave up"]


def optimizers(hooks: Hooks) -> tuple[type[Any], type[Any]]:
    """One that steps, and one that steps another one within its own step."""

    class Optimizer:
        def __init__(self, inner: Any = None) -> None:
            self.inner = inner
            self.param_groups = [{"params": [SimpleNamespace(grad=Tensor(1, 2))]}]

    class Plain(Optimizer):
        def step(self) -> None:
            pass

    class Around(Optimizer):
        def step(self) -> None:
            self.inner.step()

    hooks.optimizers(SimpleNamespace(Optimizer=Optimizer))
    return Plain, Around


def test_steps_are_looked_at_ever_more_rarely_also_those_within_anothers_step(
    hooks: Hooks, collector: Collector
) -> None:
    plain, around = optimizers(hooks)
    optimizer = around(plain())
    for _ in range(17):
        optimizer.step()
    for name in ("Around", "Plain"):
        assert [one[2] for one in collector.told if one[1] == name] == [1, 2, 3, 4, 8, 16]
    assert hooks.most_steps() == 17


def test_a_step_within_the_same_optimizers_step_is_none_of_its_own(
    hooks: Hooks, collector: Collector
) -> None:
    """Horovod's optimizer is the script's own, with a step that calls it."""
    plain, _ = optimizers(hooks)

    class Horovods(plain):  # type: ignore[misc, valid-type]
        def step(self) -> None:
            super().step()

    optimizer = Horovods()
    for _ in range(2):
        optimizer.step()
    assert [one[2] for one in collector.told] == [1, 1, 2, 2]
    assert hooks.most_steps() == 2


def test_a_step_that_fails_is_not_taken_for_one_that_still_runs(
    hooks: Hooks, collector: Collector
) -> None:
    _, around = optimizers(hooks)
    optimizer = around()
    for _ in range(2):
        with pytest.raises(AttributeError):
            optimizer.step()
    assert hooks.most_steps() == 2


@pytest.mark.parametrize(
    ("stepped", "changes", "told"), [(False, 1, [1]), (False, 0, []), (True, 1, [1])]
)
def test_an_optimizer_whose_steps_were_compiled_has_made_one_where_its_parameters_have_changed(
    stepped: bool, changes: int, told: list[int], hooks: Hooks, collector: Collector
) -> None:
    plain, _ = optimizers(hooks)
    optimizer = plain()
    (parameter,) = optimizer.param_groups[0]["params"]
    if stepped:
        optimizer.step()
    parameter._version = changes
    hooks.look_at_compiled()
    assert [one[2] for one in collector.told] == told


def test_steps_that_an_optimizer_inherits_are_seen(hooks: Hooks, collector: Collector) -> None:
    plain, _ = optimizers(hooks)

    class Inheriting(plain):  # type: ignore[misc, valid-type]
        pass

    Inheriting().step()
    assert [one[1:] for one in collector.told] == [("Inheriting", 1)]
