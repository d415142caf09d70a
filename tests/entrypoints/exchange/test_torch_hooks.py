"""When the hooks look at an optimizer that steps, by stand-ins; real ranks are in
tests/entrypoints/strategies and in test_real_ranks.py.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.rank.exchange import torch_hooks
from launch_runtime.rank.exchange.torch_hooks import Hooks

from tests.entrypoints.exchange.told import Collector, Tensor


@pytest.fixture
def collector() -> Collector:
    return Collector()


@pytest.fixture
def hooks(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    monkeypatch.setattr(torch_hooks, "untraced", lambda original, watched: watched)
    found = Hooks(collector)  # type: ignore[arg-type]
    found.tracked = lambda parameter: f"of {parameter}"  # type: ignore[method-assign]
    return found


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
