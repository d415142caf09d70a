"""Whether what an exchange left is still there: by the real PyTorch, and in the hooks."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.evidence.records import ALL
from launch_runtime.rank.exchange import torch_hooks
from launch_runtime.rank.exchange.torch_hooks import Hooks

from tests.entrypoints.exchange.test_torch_parameters import (
    Collector,
    Tensor,
    optimizer_class,
    parameter,
)
from tests.entrypoints.strategies.torch_ranks import PYTHON, need_torch
from tests.places import ENTRYPOINTS

PROGRAM = """
import torch
from launch_runtime.rank.exchange.torch_memory import Carried
whole = torch.zeros(1000)
part = whole[10:20]
carried, inner = Carried(whole, None), Carried(part, None)
other = torch.zeros(10, dtype=torch.uint8)
del whole
said = [carried.is_at(other), inner.is_at(other)]
del part
weight = torch.ones(5, requires_grad=True)
(weight * 2).sum().backward()
gradient = Carried(weight.grad, None)
said += [carried.is_at(other), inner.is_at(other), gradient.is_at(other)]
twin = torch.from_numpy(weight.grad.numpy())
second = Carried(twin, None)
del twin
said += [second.is_at(weight.grad), second.is_at(weight.grad[:2]), second.is_at(other)]
weight.grad = None
print(said + [gradient.is_at(other), Carried(torch.ones(2).to_sparse(), None).is_at(other)])
"""


@pytest.mark.processes
def test_memory_is_a_tensors_own_as_long_as_one_of_it_is_there() -> None:
    need_torch()
    done = subprocess.run(
        [str(PYTHON), "-W", "error", "-c", PROGRAM],
        cwd=ENTRYPOINTS,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == str(
        [True, True, False, False, True, True, False, False, False, True]
    )


class Weak:
    """A weak reference to a storage of the stand-ins."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def expired(self) -> bool:
        return bool(self._storage.is_gone)


@pytest.mark.parametrize(
    ("is_gone", "values", "is_reduced"),
    [
        (False, [7.0] * 9, True),
        (True, [7.0] * 9, False),
        (True, [[7.0], [7.0]], False),
        (True, [7.0, 7.0], True),
    ],
    ids=[
        "it holds the gradient",
        "another one's",
        "another one's of that size",
        "a second storage over the same memory",
    ],
)
def test_a_gradient_that_got_the_memory_of_a_result_is_not_that_result(
    monkeypatch: pytest.MonkeyPatch, is_gone: bool, values: list[Any], is_reduced: bool
) -> None:
    reductions = SimpleNamespace(StorageWeakRef=Weak)
    monkeypatch.setitem(sys.modules, "torch.multiprocessing.reductions", reductions)  # type: ignore[arg-type]
    monkeypatch.setattr(torch_hooks, "untraced", lambda original, watched: watched)
    collector = Collector()
    hooks = Hooks(collector)  # type: ignore[arg-type]
    weight = parameter(1.0, 2.0)
    weight.grad = Tensor([0.5, 0.5], place=192)
    optimizer = optimizer_class(hooks.optimizers)(weight)
    result: Any = Tensor(values, place=192)
    storage = SimpleNamespace(data_ptr=lambda: 192, is_gone=is_gone)
    result.untyped_storage = lambda: storage

    hooks.exchanged([], [result], ALL)
    optimizer.step()

    assert len(collector.reduced_ones) == is_reduced
