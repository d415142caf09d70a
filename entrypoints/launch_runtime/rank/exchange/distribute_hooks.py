"""Hooks where TensorFlow's own strategies exchange values between replicas.

A replica's ``all_reduce`` has the tensors as script and optimizer know them; inside a
``tf.function`` it goes on with copies. Below it, and below what is reduced from outside of a
replica, is one class, ``CrossDeviceOps`` (TensorFlow 2.18, read). The first value of a variable,
which the first worker sends to the others, takes another way and is no exchange.

A step that an optimizer makes goes from a replica's thread to the thread that called
``strategy.run``, and back: so what is being applied is known here for all threads.
"""

from __future__ import annotations

import contextlib
import functools
import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Optional, Sequence

from launch_runtime.evidence.records import ALL
from launch_runtime.rank.exchange import COMPUTING
from launch_runtime.rank.exchange.structures import dense, flat
from launch_runtime.rank.exchange.variables import Variable
from launch_runtime.rank.import_hook import OnImport

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.collector import Collector

Track = Callable[[Any], Optional[Variable]]

OPERATIONS = "tensorflow.python.distribute.cross_device_ops"
CONTEXTS = "tensorflow.python.distribute.distribute_lib"
# Modules of Keras 2 in which ``Optimizer`` sums gradients over replicas before it calls the
# ``apply_gradients`` that its base class has.
_SUM_FIRST = (
    "keras.optimizers.optimizer_experimental.optimizer",  # 2.9, 2.10
    "keras.optimizers.optimizer",  # 2.11, 2.12
    "keras.src.optimizers.optimizer",  # 2.13 to 2.15
    "tf_keras.src.optimizers.optimizer",
)


class Replicas:
    """What one process knows of variables that several replicas hold together.

    Args:
        collector: Takes what was exchanged.
        track: Gives what stands for a variable.
        plain: Marks a function as one that AutoGraph leaves alone.
    """

    def __init__(self, collector: Collector, track: Track, plain: Callable[[Any], Any]):
        self._collector, self._track, self._plain = collector, track, plain
        self._applying: dict[int, list[Variable]] = {}  # of every step that is being made

    def table(self) -> dict[str, OnImport]:
        """Module -> what is to be done with it once it is there."""
        return {OPERATIONS: self.operations, CONTEXTS: self.contexts}

    @property
    def is_applying(self) -> bool:
        """Whether an optimizer is changing variables of several replicas, in any thread."""
        return any(self._applying.copy().values())

    @contextlib.contextmanager
    def step(self, pairs: Iterable[Any]) -> Iterator[None]:
        """A block in which an optimizer changes the variables of pairs; of note are those that
        several replicas hold."""
        shared = self._shared(pairs)
        self._applying[id(shared)] = shared
        try:
            yield
        finally:
            del self._applying[id(shared)]

    def _shared(self, pairs: Iterable[Any]) -> list[Variable]:
        try:
            found = [pair[1] for pair in pairs if _is_pair(pair) and is_shared(pair[1])]
            known = [self._track(variable) for variable in found]
        except Exception as error:
            self._collector.give_up(error)
            return []
        return [variable for variable in known if variable is not None]

    def optimizer(self, module: Any) -> None:
        """A module with an optimizer of Keras 2."""
        cls: Any = getattr(module, "Optimizer", None)
        original = getattr(cls, "__dict__", {}).get("apply_gradients")
        if original is None or module.__name__ not in _SUM_FIRST:
            return
        step = self.step

        @functools.wraps(original)
        def apply_gradients(optimizer: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = list(grads_and_vars)
            with step(pairs):
                return original(optimizer, pairs, *args, **kwargs)

        cls.apply_gradients = self._plain(apply_gradients)

    def contexts(self, module: Any) -> None:
        """``tensorflow.python.distribute.distribute_lib``."""
        base = getattr(module, "ReplicaContextBase", getattr(module, "ReplicaContext", None))

        def group(context: Any, value: Any) -> Any:
            return _group(context.num_replicas_in_sync)

        self._wrap(base, "all_reduce", lambda args: flat(args[1]), group)

    def operations(self, module: Any) -> None:
        """``tensorflow.python.distribute.cross_device_ops``."""
        base = getattr(module, "CrossDeviceOps", None)
        self._wrap(base, "reduce", lambda args: [args[1]], _group_of)
        self._wrap(base, "batch_reduce", lambda args: [pair[0] for pair in args[1]], _group_of)

    def _wrap(
        self,
        cls: Any,
        name: str,
        values: Callable[[Sequence[Any]], list[Any]],
        group_of: Callable[[Any, Any], Any],
    ) -> None:
        original = getattr(cls, "__dict__", {}).get(name)
        if original is None:
            return
        collector, note = self._collector, self._exchanged

        @functools.wraps(original)
        def reduction(owner: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(owner, *args, **kwargs)
            try:
                known = [*args, *kwargs.values()]
                given = values(known) if len(known) > 1 else []
                note([(value, group_of(owner, value)) for value in given], result)
            except Exception as error:
                collector.give_up(error)
            return result

        setattr(cls, name, self._plain(reduction))

    def _exchanged(self, given: Sequence[tuple[Any, Any]], result: Any) -> None:
        collector = self._collector
        if collector.is_inside(COMPUTING):  # of what a loss was taken of
            collector.came_back(is_of_horovod=False)
        for value, group in given:
            if group != ALL:
                continue
            for part in _components(value):
                tensor = dense(part)
                applied = self._of_shape(tensor)
                if applied:
                    collector.reduced(applied, group)
                else:
                    collector.exchanged(tensor, list(tensor.shape), group, is_traced=True)
        if any(group == ALL for _, group in given):
            for value in flat(result):
                for part in _components(value):
                    collector.arrived(part, ALL)

    def _of_shape(self, tensor: Any) -> list[Variable]:
        """The variables that are being changed whose gradient this may be."""
        shape = tuple(tensor.shape)
        return [
            variable
            for variables in self._applying.copy().values()
            for variable in variables
            if variable.shape == shape
        ]


def _is_pair(found: Any) -> bool:
    return isinstance(found, (list, tuple)) and len(found) == 2


def is_shared(variable: Any) -> bool:
    """Whether several replicas hold it together: made under a strategy's ``scope()``."""
    for _ in range(3):  # Keras's own kinds of variables hold TensorFlow's
        fields = getattr(variable, "__dict__", {})
        if isinstance(fields.get("_values"), tuple) and "_distribute_strategy" in fields:
            return True
        variable = fields.get("_variable", fields.get("_value"))
    return False


def _group_of(operations: Any, value: Any) -> Any:
    """The group of a reduction from outside of a replica.

    What is reduced over the hosts' processors alone (metrics where each has several GPUs), or
    within one of several hosts, takes in fewer than all replicas.
    """
    workers = int(getattr(operations, "_num_between_graph_workers", 1))
    return _group(workers * len(_components(value)))


def _group(replicas: int) -> Any:
    return ALL if replicas == int(os.environ.get("LAUNCH_WORLD_SIZE") or 0) else None


def _is_several(value: Any) -> bool:
    return isinstance(getattr(value, "__dict__", {}).get("_values"), tuple)


def _components(value: Any) -> Sequence[Any]:
    """A value's tensors, one a replica of this process."""
    return value.__dict__["_values"] if _is_several(value) else (value,)
