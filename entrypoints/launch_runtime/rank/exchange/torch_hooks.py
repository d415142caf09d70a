"""Hooks where PyTorch's optimizers step, and where Horovod's PyTorch binding exchanges tensors.

A step of an optimizer is a call of Python here, so there is little to do at each: a whole look at
the parameters is taken at the first steps, and then ever more rarely. What an exchange gave is
known by its place in memory (``data_ptr``) until the next step.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

from launch_runtime.evidence.records import ACCUMULATED, ADASUM, FP16
from launch_runtime.rank.exchange import APPLYING, REDUCING
from launch_runtime.rank.exchange.fingerprints import MOST_VALUES
from launch_runtime.rank.exchange.horovod_hooks import argument, group_of, parameters_of
from launch_runtime.rank.exchange.trained import MOST, Variable
from launch_runtime.rank.exchange.untraced import untraced
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
_EVERY_STEP_UNTIL = 4


def table(collector: Collector) -> dict[str, OnImport]:
    """Module -> what is to be done with it once it is there."""
    hooks = Hooks(collector)
    return {
        "torch.optim.optimizer": hooks.optimizers,
        "torch.nn.modules.module": hooks.modules,
        "horovod.torch.mpi_ops": hooks.operations,
        "horovod.torch.optimizer": hooks.binding,
    }


class Hooks:
    """Those of one process.

    Args:
        collector: Is told.

    Attributes:
        at_step: Called with the parameters that have gradients, and the number of the step, ahead
            of each step of an optimizer that is looked at.
    """

    def __init__(self, collector: Collector):
        self._collector = collector
        self._steps: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._made: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._running: set[int] = set()  # numbers of optimizers that are in their step
        self._recent: dict[int, Any] = {}  # place in memory -> group, since the last step
        self._places: dict[int, Variable] = {}  # of parameters' values
        # Held by the variables alone, which give up what they read once it is dropped.
        self._readers: weakref.WeakValueDictionary[Variable, _Reader]
        self._readers = weakref.WeakValueDictionary()
        self.at_step: Callable[[Sequence[Any], int], None] = lambda parameters, count: None

    # -- torch -----------------------------------------------------------------------------------

    def optimizers(self, module: Any) -> None:
        """``torch.optim.optimizer``."""
        original = module.Optimizer.__init__
        wrap, made = self._wrap_steps, self._made

        @functools.wraps(original)
        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            original(optimizer, *args, **kwargs)
            wrap(type(optimizer), module.Optimizer)
            made.setdefault(optimizer, _changes(optimizer))

        module.Optimizer.__init__ = __init__

    def modules(self, module: Any) -> None:
        """``torch.nn.modules.module``."""
        original = module.Module.load_state_dict
        collector, known = self._collector, self._known

        @functools.wraps(original)
        def load_state_dict(network: Any, *args: Any, **kwargs: Any) -> Any:
            for parameter in network.parameters():
                variable = known(parameter)
                if variable is not None:
                    collector.assigned(variable)
            return original(network, *args, **kwargs)

        module.Module.load_state_dict = load_state_dict

    def _wrap_steps(self, cls: Any, base: Any) -> None:
        for one in cls.__mro__:
            step = one.__dict__.get("step")
            if one is base or step is None or getattr(step, "launch_watches", False):
                continue
            one.step = self._watched(step)

    def _watched(self, original: Any) -> Any:
        collector, note, running = self._collector, self._stepping, self._running

        def watched(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if id(optimizer) in running:
                # Horovod's own step has reduced what was left; the gradients are final now.
                note(optimizer, last=True)
                return original(optimizer, *args, **kwargs)
            note(optimizer, last=False)
            running.add(id(optimizer))
            try:
                with collector.within(APPLYING):
                    return original(optimizer, *args, **kwargs)
            finally:
                running.discard(id(optimizer))

        step = untraced(original, watched)
        step.launch_watches = True
        return step

    def _stepping(self, optimizer: Any, last: bool) -> None:
        try:
            self._note_step(optimizer, last)
        except Exception as error:
            self._collector.give_up(error)

    def _note_step(self, optimizer: Any, last: bool) -> None:
        if not last:
            self._steps[optimizer] = self._steps.get(optimizer, 0) + 1
        count = self._steps[optimizer]
        if count <= _EVERY_STEP_UNTIL or count & (count - 1) == 0:
            self._look_at(optimizer, count)
        self._recent.clear()

    def _look_at(self, optimizer: Any, count: int) -> None:
        parameters = [one for one in _parameters(optimizer) if one.grad is not None]
        pairs = [(parameter.grad, self.tracked(parameter)) for parameter in parameters]
        if pairs:
            self.at_step(parameters, count)
            ref, steps = weakref.ref(optimizer), self._steps
            name = type(optimizer).__name__
            self._collector.applied(optimizer, name, pairs, lambda: steps[ref()])
        for gradient, variable in pairs:
            exchange = self._recent.get(_place(gradient))
            if exchange is not None:
                self._collector.reduced([variable], exchange)

    def look_at_compiled(self) -> None:
        """Notes the optimizers whose steps torch.compile has made its own: they were never seen to
        step, and their parameters have gradients and have changed."""
        for optimizer, changes in list(self._made.items()):
            if optimizer not in self._steps and _changes(optimizer) > changes:
                self._steps[optimizer] = 1
                self._look_at(optimizer, 1)

    def _known(self, parameter: Any) -> Variable | None:
        return self._collector.variables.of(parameter)

    def tracked(self, parameter: Any) -> Variable:
        """What stands for a parameter, from its first step on."""
        known = self._known(parameter)
        if known is None:
            reader = _Reader(parameter)
            known = self._collector.variables.keep(parameter, _own(parameter).shape, reader)
            known.is_blind, known.is_whole = True, not _is_part(parameter)
            self._readers[known] = reader
        else:
            self._readers[known].hold(parameter)  # it may have been moved
        if len(self._places) < MOST:
            self._places[_place(parameter)] = known
        return known

    # -- horovod.torch -----------------------------------------------------------------------------

    def binding(self, module: Any) -> None:
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
        collector, track = self._collector, self.tracked

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
        collector, note = self._collector, self.exchanged

        @functools.wraps(original)
        def operation(*args: Any, **kwargs: Any) -> Any:
            if not collector.is_inside(REDUCING):
                given = argument(parameters[0], parameters, args, kwargs)
                output = argument(parameters[1], parameters, args, kwargs)
                group = group_of(argument("process_set", parameters, args, kwargs))
                try:
                    note(given if several else [given], output if several else [output], group)
                except Exception as error:
                    collector.give_up(error)
            return original(*args, **kwargs)

        setattr(module, name, operation)

    def parameters(self) -> list[Any]:
        """Those of all optimizers that have made a step and are still there."""
        return [
            parameter
            for optimizer in list(self._steps)
            for parameter in _parameters(optimizer)
            if self._known(parameter) is not None
        ]

    def most_steps(self) -> int:
        """The steps of that optimizer that has made most."""
        return max(self._steps.values(), default=0)

    def exchanged(self, given: Iterable[Any], outputs: Iterable[Any], group: Any) -> None:
        """These tensors go over ``group``, and what comes is in ``outputs``."""
        for tensor in given:
            value = self._places.get(_place(tensor))
            if value is not None and (value.is_dropped or value.shape != tuple(tensor.shape)):
                value = None
            self._collector.exchanged(tensor, list(tensor.shape), group, value)
        for tensor in outputs:
            if hasattr(tensor, "data_ptr") and len(self._recent) < MOST:
                self._recent[_place(tensor)] = group

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


def _parameters(optimizer: Any) -> list[Any]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _changes(optimizer: Any) -> int:
    """How often its parameters were changed in place, by anything."""
    return sum(int(getattr(one, "_version", 0)) for one in _parameters(optimizer))


def _own(tensor: Any) -> Any:
    """This rank's part of a DTensor, of which to read the whole would need the other ranks."""
    return getattr(tensor, "_local_tensor", tensor)


def _is_part(tensor: Any) -> bool:
    """Whether it is a DTensor of which each rank holds a part."""
    return any(placement.is_shard() for placement in getattr(tensor, "placements", ()))


def _place(tensor: Any) -> int:
    """Where its values begin; 0 for a sparse one, which no place stands for."""
    tensor = _own(tensor)
    return 0 if getattr(tensor, "is_sparse", False) else int(tensor.data_ptr())


class _Reader:
    """Reads a parameter, or its storage once it is gone."""

    def __init__(self, parameter: Any):
        self._ref = weakref.ref(parameter)
        self.hold(parameter)

    def hold(self, parameter: Any) -> None:
        """Its storage is where it is now."""
        self._storage = _own(parameter).detach()

    def __call__(self) -> Any:
        alive = self._ref()
        values = self._storage if alive is None else _own(alive).detach()
        if not values.is_floating_point():
            raise ValueError("no real numbers")
        return values.reshape(-1)[:MOST_VALUES].float().cpu().numpy()
