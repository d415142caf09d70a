"""Hooks on Horovod's operations for TensorFlow, by a stand-in for their module."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from launch_runtime.rank.exchange import COMPUTING, horovod_hooks

from tests.entrypoints.exchange.told import Collector

OPERATIONS = """
def _allreduce(tensor, op=None, process_set=None):
    return tensor

def _allreduce_grad(op, grad):
    return _allreduce(grad)
"""


class Watched(Collector):
    """Writes down what it is told, of an exchange its shape alone."""

    has_begun = True
    variables = SimpleNamespace(of=lambda found: None)

    def exchanged(self, tensor: Any, shape: list[int], *_: Any, **how: Any) -> None:
        self.told.append(("exchanged", shape))

    def arrived(self, tensor: Any, group: Any) -> None:
        pass

    def came_back(self, is_of_horovod: bool) -> None:
        self.told.append(("came back", is_of_horovod))


@pytest.fixture
def collector() -> Watched:
    return Watched()


@pytest.fixture
def operations(collector: Watched) -> Any:
    module = ModuleType("mpi_ops")
    exec(OPERATIONS, module.__dict__)
    table = horovod_hooks.table(collector)  # type: ignore[arg-type]
    table["horovod.tensorflow.mpi_ops"](module)
    return module


TENSOR = SimpleNamespace(shape=(2, 64))


def test_a_gradient_of_what_an_exchange_gave_is_no_further_exchange(
    collector: Watched, operations: Any
) -> None:
    operations._allreduce(TENSOR)
    operations._allreduce_grad(None, TENSOR)
    assert collector.told == [("exchanged", [2, 64]), ("came back", True)]


def test_what_a_script_exchanges_while_gradients_are_computed_is_told_as_that(
    collector: Watched, operations: Any
) -> None:
    with collector.within(COMPUTING):
        operations._allreduce(TENSOR)
    assert collector.told == [("came back", False), ("exchanged", [2, 64])]


def test_moments_of_batches_are_no_exchange_of_a_model(collector: Watched, operations: Any) -> None:
    layer = ModuleType("sync_batch_norm")
    layer._allreduce = operations._allreduce  # type: ignore[attr-defined]
    table = horovod_hooks.table(collector)  # type: ignore[arg-type]
    table["horovod.tensorflow.sync_batch_norm"](layer)
    assert layer._allreduce(TENSOR, op=None) is TENSOR
    assert collector.told == [("sent",)]
