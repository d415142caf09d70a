"""Models that are wrapped, by stand-ins for DistributedDataParallel and what shards."""

from __future__ import annotations

import sys
from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.evidence.records import ACCUMULATED, ALL, BF16, FP16
from launch_runtime.rank.exchange.wrapped_models import Trained, WrappedModels


class Parameter:
    """A part of a model."""


class Group:
    """A process group; ``total`` collectives went over it."""

    def __init__(self, ranks: Any, total: int = 1):
        self.ranks, self.total = ranks, total


class Model:
    """As much of a wrapped model as is asked for."""

    require_backward_grad_sync = True

    def __init__(self, group: Any, *parameters: Parameter):
        self.process_group, self._parameters = group, parameters

    def parameters(self) -> tuple[Parameter, ...]:
        return self._parameters

    def forward(self, value: int) -> int:
        return 2 * value


WHOLE = Group(ALL)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = SimpleNamespace(grad=True, __path__=[])
    module.is_grad_enabled = lambda: module.grad
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.fixture
def models() -> WrappedModels:
    return WrappedModels(lambda group: group.ranks, lambda group: group.total if group else 0)


def data_parallel(models: WrappedModels) -> Any:
    """A class of its own, which the models watch."""
    kind = type("DistributedDataParallel", (Model,), {"forward": Model.forward})
    models.data_parallel(SimpleNamespace(DistributedDataParallel=kind))
    return kind


def sharded(models: WrappedModels) -> Any:
    kind = type("FullyShardedDataParallel", (Model,), {})
    models.sharded(SimpleNamespace(FullyShardedDataParallel=kind))
    return kind


@pytest.mark.usefixtures("torch")
def test_a_model_trains_together_once_it_was_called(models: WrappedModels) -> None:
    inner, other = Parameter(), Parameter()
    model = data_parallel(models)(WHOLE, inner)
    assert list(models.trained([inner, other])) == []
    assert not models.count_for(WHOLE)

    assert [model.forward(3) for _ in range(2)] == [6, 6]

    assert list(models.trained([inner, other])) == [Trained(inner, [ALL], True)]
    assert list(models.trained([other])) == []
    assert models.count_for(WHOLE)


@pytest.mark.parametrize(("grad", "sync"), [(False, True), (True, False)])
def test_a_pass_whose_gradients_stay_here_counts_for_nothing(
    models: WrappedModels, torch: Any, grad: bool, sync: bool
) -> None:
    inner = Parameter()
    model = data_parallel(models)(WHOLE, inner)
    torch.grad, model.require_backward_grad_sync = grad, sync

    assert model.forward(3) == 6

    assert list(models.trained([inner])) == []
    assert not models.count_for(WHOLE)


@pytest.mark.usefixtures("torch")
def test_groups_over_which_nothing_went_or_of_others_are_left_out(models: WrappedModels) -> None:
    inner = Parameter()
    kind = data_parallel(models)
    quiet, theirs = kind(Group([0, 1], total=0), inner), kind(Group(None), inner)
    for model in (quiet, theirs):
        model.forward(1)

    assert list(models.trained([inner])) == [Trained(inner, [], True)] * 2


@pytest.mark.usefixtures("torch")
def test_what_a_model_was_made_for_is_known_by_its_group(models: WrappedModels) -> None:
    heard: list[str] = []
    models.on_wrapped = lambda: heard.append("wrapped")
    inner, other = Parameter(), Parameter()
    _ = data_parallel(models)(WHOLE, inner)

    assert heard == ["wrapped"]
    assert list(models.wrapped([inner, other])) == [inner]
    assert list(models.wrapped([inner, other], WHOLE)) == [inner]
    assert list(models.wrapped([inner, other], Group(ALL))) == []


@pytest.mark.parametrize(("sharding", "whole"), [("FULL_SHARD", False), ("NO_SHARD", True)])
def test_what_is_sharded_trains_over_both_of_its_groups(
    models: WrappedModels, sharding: str, whole: bool
) -> None:
    inner, other = Parameter(), Parameter()
    model = sharded(models)(Group([0, 1]), inner)
    model.sharding_strategy = SimpleNamespace(name=sharding)
    assert list(models.trained([inner, other])) == [Trained(inner, [[0, 1]], whole)]

    model._inter_node_pg = Group([0, 2])
    assert list(models.trained([inner, other])) == [Trained(inner, [[0, 1], [0, 2]], whole)]


@pytest.mark.parametrize("name", ["DeepSpeedZeroOptimizer", "DeepSpeedZeroOptimizer_Stage3"])
def test_a_part_of_a_model_that_deepspeed_steps_trains_over_its_group(
    models: WrappedModels, name: str
) -> None:
    class Zero:
        def __init__(self, part: Parameter, total: int):
            self.optimizer = SimpleNamespace(param_groups=[{"params": [part]}])
            self.dp_process_group = Group([0, 1], total=total)

    models.partitioned(SimpleNamespace(**{name: Zero}))
    part, silent, other = Parameter(), Parameter(), Parameter()
    kept = [Zero(part, 1), Zero(silent, 0)]

    assert list(models.trained([part, other])) == [Trained(part, [[0, 1]], False)]
    assert list(models.trained([silent])) == [Trained(silent, [], False)]
    assert len(kept) == 2  # what is gone trains nothing


class Mesh:
    """The groups of a device mesh, since 2.4 or before."""

    def __init__(self, name: str, *groups: Group):
        setattr(self, name, lambda: groups)


@pytest.mark.parametrize("name", ["get_all_groups", "get_dim_groups"])
@pytest.mark.parametrize(
    ("shards", "whole"), [((False,), True), ((True,), False), ((False, True), False)]
)
def test_a_parameter_with_a_mesh_trains_over_the_groups_of_it(
    models: WrappedModels, name: str, shards: tuple[bool, ...], whole: bool
) -> None:
    one: Any = Parameter()
    one.device_mesh = Mesh(name, Group([0, 1]), Group([0, 2], total=0))
    assert list(models.trained([one])) == []

    one.placements = [SimpleNamespace(is_shard=lambda shard=shard: shard) for shard in shards]
    assert list(models.trained([one])) == [Trained(one, [[0, 1]], whole)]


def fp16_compress_hook() -> None:
    """One of PyTorch's."""


def bf16_compress_wrapper() -> Any:
    """One of PyTorch's that makes a hook."""

    def hook() -> None:
        pass

    return hook


class BuiltinCommHookType(Enum):
    """PyTorch's."""

    ALLREDUCE = 0
    FP16_COMPRESS = 1


class Mute:
    """A hook's state, which answers nothing."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(
    ("method", "given", "ways"),
    [
        ("register_comm_hook", (None, fp16_compress_hook), {FP16}),
        ("register_comm_hook", (None, bf16_compress_wrapper()), {BF16}),
        ("register_comm_hook", ("fp16", print), set()),
        ("_register_builtin_comm_hook", (BuiltinCommHookType.FP16_COMPRESS,), {FP16}),
        ("_register_builtin_comm_hook", (BuiltinCommHookType.ALLREDUCE,), set()),
        ("register_comm_hook", (Mute(), print), set()),
    ],
)
def test_a_communication_hook_says_in_which_way_gradients_go(
    models: WrappedModels, method: str, given: tuple[Any, ...], ways: set[str]
) -> None:
    kept: list[Any] = []
    kind = type(
        "DistributedDataParallel",
        (Model,),
        {"forward": Model.forward, method: lambda model, *args, **kwargs: kept.append(args)},
    )
    models.data_parallel(SimpleNamespace(DistributedDataParallel=kind))
    inner = Parameter()
    model: Any = kind(WHOLE, inner)
    getattr(model, method)(*given)
    model.forward(1)
    assert kept == [given]
    assert [one.ways for one in models.trained([inner])] == [ways]


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(("stepped", "ways"), [(False, {ACCUMULATED}), (True, set())])
def test_passes_whose_gradients_stay_here_until_another_one_accumulate(
    models: WrappedModels, stepped: bool, ways: set[str]
) -> None:
    inner = Parameter()
    model = data_parallel(models)(WHOLE, inner)
    model.require_backward_grad_sync = False
    model.forward(1)
    if stepped:
        models.stepped(Parameter())
    model.require_backward_grad_sync = True
    model.forward(1)
    assert [one.ways for one in models.trained([inner])] == [ways]


@pytest.mark.usefixtures("torch")
def test_the_groups_of_parameters_are_those_of_the_models_that_hold_them(
    models: WrappedModels,
) -> None:
    kind, inner, other = data_parallel(models), Parameter(), Parameter()
    pair = Group([0, 1])
    _kept = kind(WHOLE, inner), kind(pair, inner), kind(Group(ALL), other)
    assert set(models.groups_of([inner])) == {WHOLE, pair}
    assert models.groups_of([Parameter()]) == []
