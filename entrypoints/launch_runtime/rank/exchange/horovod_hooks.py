"""Hooks where Horovod's TensorFlow binding hands tensors to the other ranks.

Functions of ``horovod.tensorflow.mpi_ops`` are replaced before anything imports them by name.
What reduces the gradients of DistributedOptimizer and DistributedGradientTape knows the variables
(``_make_allreduce_grads_fn``), so there nothing is left to guess. Names as in 0.19 to 0.28.1.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any

from launch_runtime.evidence.records import ADASUM, ALL, FP16
from launch_runtime.rank.exchange import BROADCAST, COMPUTING, REDUCING, tensorflow_variables
from launch_runtime.rank.exchange.seen import Marks
from launch_runtime.rank.exchange.tensorflow_variables import plain
from launch_runtime.rank.import_hook import OnImport

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.collector import Collector

_ONE = ("_allreduce", "allgather", "alltoall", "_reducescatter")
_SEVERAL = ("_grouped_allreduce", "grouped_allgather", "_grouped_reducescatter")
_FROM_ONE = ("broadcast", "broadcast_")


def table(collector: Collector) -> dict[str, OnImport]:
    """Module -> what is to be done with it once it is there."""
    hooks = _Hooks(collector)
    return {
        "horovod.tensorflow.mpi_ops": hooks.operations,
        "horovod.tensorflow.compression": hooks.compression,
        "horovod.tensorflow.functions": hooks.functions,
        "horovod.tensorflow": hooks.binding,
        "horovod.tensorflow.sync_batch_norm": hooks.batch_norm,
    }


def group_of(process_set: Any) -> Any:
    """The ranks of a process set: ``"all"``, or a sorted list; an empty one where this rank is not
    in it, and keeps what it has."""
    number = getattr(process_set, "process_set_id", 0)
    ranks = getattr(process_set, "ranks", None)
    if not number or not ranks:
        return ALL
    if not _is_in(process_set):
        return []
    found = sorted(int(rank) for rank in ranks)
    world = os.environ.get("LAUNCH_WORLD_SIZE", "")
    return ALL if world == str(len(found)) else found


def _is_in(process_set: Any) -> bool:
    """Whether this rank is in it; so is one where nobody can say."""
    included = getattr(process_set, "included", None)
    try:
        return included is None or bool(included())
    except Exception:  # Horovod is shut down, or has no such set any more
        return True


class _Hooks:
    def __init__(self, collector: Collector):
        self._collector = collector
        self._halved = Marks()  # tensors that were made smaller on their way

    def compression(self, module: Any) -> None:
        """``horovod.tensorflow.compression``: what was made smaller is the same gradient."""
        cls = module.FP16Compressor
        compress, decompress = cls.compress, cls.decompress
        collector, halved = self._collector, self._halved

        @functools.wraps(compress)
        def smaller(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            result = compress(tensor, *args, **kwargs)
            collector.same(tensor, result[0])
            halved.set(result[0], True)
            return result

        @functools.wraps(decompress)
        def larger(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            result = decompress(tensor, *args, **kwargs)
            collector.same(tensor, result)
            return result

        cls.compress, cls.decompress = staticmethod(plain(smaller)), staticmethod(plain(larger))

    def operations(self, module: Any) -> None:
        """``horovod.tensorflow.mpi_ops``."""
        for name in (*_ONE, *_SEVERAL):
            if hasattr(module, name):
                self._wrap(module, name, several=name in _SEVERAL)
        for name in _FROM_ONE:
            if hasattr(module, name):
                self._tell(module, name, self._sent)
        if hasattr(module, "broadcast_"):
            self._overwrites(module, "broadcast_")
        if hasattr(module, "join"):
            self._tell(module, "join", lambda _: self._collector.joined())

    def functions(self, module: Any) -> None:
        """``horovod.tensorflow.functions``."""
        if hasattr(module, "broadcast_variables"):  # it runs a function that was traced once
            self._overwrites(module, "broadcast_variables")

    def _overwrites(self, module: Any, name: str) -> None:
        original, collector = getattr(module, name), self._collector

        @functools.wraps(original)
        def broadcast(variables: Any, *args: Any, **kwargs: Any) -> Any:
            variables = list(variables)
            for variable in variables:
                collector.overwritten(variable, tensorflow_variables.seen(collector, variable))
            return original(variables, *args, **kwargs)

        setattr(module, name, plain(broadcast))

    def binding(self, module: Any) -> None:
        """``horovod.tensorflow``."""
        original = getattr(module, "_make_allreduce_grads_fn", None)
        if original is None:
            return
        parameters = parameters_of(original)
        collector = self._collector

        @functools.wraps(original)
        def make(*args: Any, **kwargs: Any) -> Any:
            group = group_of(argument("process_set", parameters, args, kwargs))
            ways = (
                {ADASUM} if _is_adasum(argument("op", parameters, args, kwargs), module) else set()
            )
            if "FP16" in getattr(argument("compression", parameters, args, kwargs), "__name__", ""):
                ways.add(FP16)
            reduce_gradients = original(*args, **kwargs)

            def reduced(grads: Any, vars: Any = None, *rest: Any, **named: Any) -> Any:  # noqa: A002
                if vars is not None:
                    found = [
                        tensorflow_variables.tracked(collector, variable)
                        for gradient, variable in zip(grads, vars)
                        if gradient is not None
                    ]
                    collector.reduced(found, group, ways)
                elif not rest and not named:
                    return reduce_gradients(grads)
                with collector.within(REDUCING):
                    return reduce_gradients(grads, vars, *rest, **named)

            return plain(reduced)

        module._make_allreduce_grads_fn = make

    def batch_norm(self, module: Any) -> None:
        """``horovod.tensorflow.sync_batch_norm``: moments of batches are no part of a model."""
        original = getattr(module, "_allreduce", None)
        if original is None:
            return
        collector, unseen = self._collector, getattr(original, "__wrapped__", original)

        @functools.wraps(unseen)
        def moments(*args: Any, **kwargs: Any) -> Any:
            collector.sent()
            return unseen(*args, **kwargs)

        module._allreduce = plain(moments)

    def _wrap(self, module: Any, name: str, several: bool) -> None:
        original = getattr(module, name)
        parameters = parameters_of(original)
        collector, halved = self._collector, self._halved

        @functools.wraps(original)
        def operation(*args: Any, **kwargs: Any) -> Any:
            if collector.is_inside(REDUCING):
                return original(*args, **kwargs)
            # Horovod's own module calls them for gradients of what they gave.
            if sys._getframe(1).f_globals is module.__dict__:
                collector.came_back(is_of_horovod=True)
                return original(*args, **kwargs)
            if collector.is_inside(COMPUTING):
                collector.came_back(is_of_horovod=False)
            group = group_of(argument("process_set", parameters, args, kwargs))
            given = argument(parameters[0], parameters, args, kwargs)
            is_adasum = _is_adasum(argument("op", parameters, args, kwargs), module)
            result = original(*args, **kwargs)
            given = list(given) if several and isinstance(given, (list, tuple)) else [given]
            for tensor in given:
                ways = {ADASUM} if is_adasum else set()
                collector.exchanged(
                    tensor,
                    _shape(tensor),
                    group,
                    tensorflow_variables.tracked(collector, tensor),
                    is_now=tensorflow_variables.is_eager(),
                    is_traced=not tensorflow_variables.is_eager(),
                    is_bytes=_is_bytes(tensor),
                    ways=ways | {FP16} if halved.of(tensor) else ways,
                )
            if collector.has_begun or not tensorflow_variables.is_eager():
                came = result if several and isinstance(result, (list, tuple)) else [result]
                for tensor in came:
                    collector.arrived(tensor, group)
            return result

        setattr(module, name, plain(operation))

    def _tell(self, module: Any, name: str, note: Any) -> None:
        original = getattr(module, name)

        @functools.wraps(original)
        def told(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            note(result)
            return result

        setattr(module, name, plain(told))

    def _sent(self, result: Any) -> None:
        self._collector.sent()
        self._collector.arrived(result, BROADCAST)


def parameters_of(function: Any) -> list[str]:
    """The names of a function's parameters, in order."""
    return list(inspect.signature(function).parameters)


def argument(name: str, parameters: list[str], args: Any, kwargs: Any) -> Any:
    """What was given for one of them; None where nothing was."""
    if name in kwargs:
        return kwargs[name]
    place = parameters.index(name) if name in parameters else len(args)
    return args[place] if place < len(args) else None


def _is_adasum(op: Any, module: Any) -> bool:
    return op is not None and op == getattr(module, "Adasum", object())


def _is_bytes(tensor: Any) -> bool:
    return getattr(getattr(tensor, "dtype", None), "name", "") in ("uint8", "int8")


def _shape(tensor: Any) -> list[Any]:
    try:
        return [None if dimension is None else int(dimension) for dimension in tensor.shape]
    except (AttributeError, TypeError, ValueError):
        return [None]
