"""Hooks where Horovod's PyTorch binding hands tensors to the other ranks.

Its wrapped optimizer says which gradients it reduces; what a script exchanges itself is known by
its place in memory (torch_hooks.py). Names as in 0.19 to 0.28.1.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable

from launch_runtime.evidence.records import ACCUMULATED, ADASUM, FP16
from launch_runtime.rank.exchange import REDUCING
from launch_runtime.rank.exchange.horovod_hooks import argument, group_of, parameters_of
from launch_runtime.rank.exchange.torch_hooks import Hooks
from launch_runtime.rank.exchange.torch_memory import GATHERED, PART, WHOLE
from launch_runtime.rank.import_hook import OnImport

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.collector import Collector

_ONE = ("_allreduce_async", "_allgather_async", "_alltoall_async", "_reducescatter_async")
_SEVERAL = (
    "_grouped_allreduce_async",
    "_grouped_allgather_async",
    "_grouped_reducescatter_async",
)
_OPTIMIZERS = ("_DistributedOptimizer", "_DistributedAdasumOptimizer")


def table(collector: Collector) -> dict[str, OnImport]:
    """Module -> what is to be done with it once it is there."""
    hooks = Hooks(collector)
    collector.before_last_word(hooks.end)
    horovod = Binding(collector, hooks)
    return {
        "torch.optim.optimizer": hooks.optimizers,
        "torch.nn.modules.module": hooks.modules,
        "horovod.torch.mpi_ops": horovod.operations,
        "horovod.torch.optimizer": horovod.optimizers,
    }


class Binding:
    """The hooks of one process.

    Args:
        collector: Is told.
        hooks: Know the parameters.
    """

    def __init__(self, collector: Collector, hooks: Hooks):
        self._collector, self._hooks = collector, hooks

    def optimizers(self, module: Any) -> None:
        """``horovod.torch.optimizer``."""
        for name in _OPTIMIZERS:
            cls = getattr(module, name, None)
            for method in ("_allreduce_grad_async", "_grouped_allreduce_grad_async"):
                if method in getattr(cls, "__dict__", {}):
                    self._wrap_reduction(cls, method)

    def operations(self, module: Any) -> None:
        """``horovod.torch.mpi_ops``."""
        for name in (*_ONE, *_SEVERAL):
            if hasattr(module, name):
                self._wrap_operation(module, name, several=name in _SEVERAL)
        self._tell(module, "_broadcast_async", self._collector.sent)
        self._tell(module, "join", self._collector.joined)

    def _wrap_reduction(self, cls: Any, method: str) -> None:
        original = getattr(cls, method)
        collector, track = self._collector, self._hooks.tracked

        @functools.wraps(original)
        def reduction(optimizer: Any, given: Any, *args: Any, **kwargs: Any) -> Any:
            several = given if isinstance(given, (list, tuple)) else [given]
            group = group_of(getattr(optimizer, "process_set", None))
            collector.reduced([track(one) for one in several], group, _ways(optimizer))
            with collector.within(REDUCING):
                return original(optimizer, given, *args, **kwargs)

        setattr(cls, method, reduction)

    def _wrap_operation(self, module: Any, name: str, several: bool) -> None:
        original = getattr(module, name)
        parameters = parameters_of(original)
        collector, note = self._collector, self._hooks.exchanged
        way = PART if "reducescatter" in name or "alltoall" in name else WHOLE
        way = GATHERED if "allgather" in name else way

        @functools.wraps(original)
        def operation(*args: Any, **kwargs: Any) -> Any:
            if not collector.is_inside(REDUCING):
                given = argument(parameters[0], parameters, args, kwargs)
                output = argument(parameters[1], parameters, args, kwargs)
                group = group_of(argument("process_set", parameters, args, kwargs))
                try:
                    sent, came = (given, output) if several else ([given], [output])
                    note(sent, came, group, way)
                except Exception as error:
                    collector.give_up(error)
            return original(*args, **kwargs)

        setattr(module, name, operation)

    def _tell(self, module: Any, name: str, note: Callable[[], Any]) -> None:
        original = getattr(module, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def told(*args: Any, **kwargs: Any) -> Any:
            note()
            return original(*args, **kwargs)

        setattr(module, name, told)


def _ways(optimizer: Any) -> list[str]:
    """In which a wrapped optimizer of Horovod's sends its gradients."""
    compression = getattr(optimizer, "_compression", None)
    passes = getattr(optimizer, "backward_passes_per_step", 1)
    found = {
        ADASUM: "Adasum" in type(optimizer)._allreduce_grad_async.__qualname__,
        FP16: "FP16" in getattr(compression, "__name__", ""),
        ACCUMULATED: isinstance(passes, int) and passes > 1,
    }
    return [way for way, is_so in found.items() if is_so]
