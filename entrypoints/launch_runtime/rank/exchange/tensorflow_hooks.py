"""Hooks where TensorFlow and Keras compute gradients and apply them.

Inside a ``tf.function`` they run while it is traced, and never at a step. Places, by version:
``GradientTape.gradient`` and the resource variables are the same from TensorFlow 2.4 on; Keras
moved its optimizers several times (2.4 to 2.18, Keras 3), which the table below lists.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import weakref
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Iterable

from launch_runtime.evidence.records import ACCUMULATED
from launch_runtime.rank.exchange import APPLYING, COMPUTING
from launch_runtime.rank.exchange.distribute_hooks import Replicas
from launch_runtime.rank.exchange.structures import flat
from launch_runtime.rank.exchange.tensorflow_variables import is_eager, plain, resource, tracked
from launch_runtime.rank.exchange.variables import Variable
from launch_runtime.rank.import_hook import OnImport

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.collector import Collector

# Module -> its class with apply_gradients(grads_and_vars, ...).
_APPLY_GRADIENTS = {
    "tensorflow.python.training.optimizer": "Optimizer",
    "tensorflow.python.keras.optimizer_v2.optimizer_v2": "OptimizerV2",
    "keras.optimizer_v2.optimizer_v2": "OptimizerV2",  # 2.6 to 2.8
    "keras.optimizers.optimizer_v2.optimizer_v2": "OptimizerV2",  # 2.9, 2.10
    "keras.optimizers.optimizer_experimental.optimizer": "_BaseOptimizer",  # 2.9, 2.10
    "keras.optimizers.legacy.optimizer_v2": "OptimizerV2",  # 2.11, 2.12
    "keras.optimizers.optimizer": "_BaseOptimizer",  # 2.11, 2.12
    "keras.src.optimizers.legacy.optimizer_v2": "OptimizerV2",  # 2.13 to 2.15
    "keras.src.optimizers.optimizer": "_BaseOptimizer",  # 2.13 to 2.15; in Keras 3 another one
    "tf_keras.src.optimizers.legacy.optimizer_v2": "OptimizerV2",
    "tf_keras.src.optimizers.optimizer": "_BaseOptimizer",
}
# By which a script changes a variable, or some of its rows.
_ASSIGN = ("assign", "assign_add", "assign_sub")
_SCATTER = (
    *(f"scatter_{how}" for how in ("update", "add", "sub", "mul", "div", "max", "min")),
    *(f"scatter_nd_{how}" for how in ("update", "add", "sub")),
    "batch_scatter_update",
    "_strided_slice_assign",  # variable[:].assign
)
_KERAS_3 = "keras.src.optimizers.base_optimizer"


def table(collector: Collector) -> dict[str, OnImport]:
    """Module -> what is to be done with it once it is there."""
    return _table(_Hooks(collector))


def replicated(collector: Collector) -> dict[str, OnImport]:
    """The same for a script whose variables TensorFlow's own strategies hold in replicas."""
    replicas = Replicas(collector, functools.partial(tracked, collector), plain)
    return {**_table(_Hooks(collector, replicas)), **replicas.table()}


def _table(hooks: _Hooks) -> dict[str, OnImport]:
    found: dict[str, OnImport] = {
        "tensorflow.python.eager.backprop": hooks.tape,
        "tensorflow.python.ops.resource_variable_ops": hooks.variables,
        _KERAS_3: hooks.keras_3,
    }
    for name, cls in _APPLY_GRADIENTS.items():
        found[name] = functools.partial(hooks.optimizer, cls)
    return found


class _Hooks:
    def __init__(self, collector: Collector, replicas: Replicas | None = None):
        self._collector, self._replicas = collector, replicas
        self._track = functools.partial(tracked, collector)

    def tape(self, module: Any) -> None:
        """``tensorflow.python.eager.backprop``."""
        original = module.GradientTape.gradient
        collector, note = self._collector, self._computed

        @functools.wraps(original)
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            with collector.within(COMPUTING):
                result = original(tape, target, sources, *args, **kwargs)
            begun = args[0] if args else kwargs.get("output_gradients")
            note(tape, sources, result, begun is not None)
            return result

        module.GradientTape.gradient = plain(gradient)

    def optimizer(self, name: str, module: Any) -> None:
        """A module with an optimizer that has ``apply_gradients``."""
        base: Any = getattr(module, name, None)
        if getattr(base, "apply_gradients", None) is None:
            return
        if self._replicas is not None:
            self._replicas.optimizer(module)
        # Keras's own class above it hands on other tensors than it was given.
        for cls in {base, getattr(module, "Optimizer", base)}:
            if "apply_gradients" in cls.__dict__:
                self._wrap_apply(cls)

    def _wrap_apply(self, cls: Any) -> None:
        original = cls.apply_gradients
        collector, note, step = self._collector, self._applied, self._step

        @functools.wraps(original)
        def apply_gradients(optimizer: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            if collector.is_inside(APPLYING):
                return original(optimizer, grads_and_vars, *args, **kwargs)
            pairs = list(grads_and_vars)
            note(optimizer, pairs, _sums_first(kwargs))
            with collector.within(APPLYING), step(pairs):
                return original(optimizer, pairs, *args, **kwargs)

        cls.apply_gradients = plain(apply_gradients)

    def _step(self, pairs: Iterable[Any]) -> ContextManager[None]:
        """A block in which an optimizer changes the variables of pairs."""
        return self._replicas.step(pairs) if self._replicas else contextlib.nullcontext()

    def keras_3(self, module: Any) -> None:
        """``keras.src.optimizers.base_optimizer``."""
        original = module.BaseOptimizer.apply
        collector, note, step = self._collector, self._applied, self._step

        @functools.wraps(original)
        def apply(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            if collector.is_inside(APPLYING):
                return original(optimizer, grads, trainable_variables)
            grads = list(grads)
            if trainable_variables is not None:
                trainable_variables = list(trainable_variables)
            known = trainable_variables or getattr(optimizer, "_trainable_variables", ())
            pairs = list(zip(grads, known))
            note(optimizer, pairs)
            with collector.within(APPLYING), step(pairs):
                return original(optimizer, grads, trainable_variables)

        module.BaseOptimizer.apply = plain(apply)

    def variables(self, module: Any) -> None:
        """``tensorflow.python.ops.resource_variable_ops``."""
        for name in (*_ASSIGN, *_SCATTER):
            if hasattr(module.BaseResourceVariable, name):
                self._wrap_assign(module.BaseResourceVariable, name)
        self._wrap_init(module.BaseResourceVariable)
        restore = getattr(module, "shape_safe_assign_variable_handle", None)
        if restore is None:
            return
        note = self._restored

        @functools.wraps(restore)
        def restored(handle: Any, *args: Any, **kwargs: Any) -> Any:
            note(handle)
            return restore(handle, *args, **kwargs)

        module.shape_safe_assign_variable_handle = plain(restored)

    def _wrap_init(self, cls: Any) -> None:
        original = cls.__init__
        made = self._collector.reach_made

        @functools.wraps(original)
        def __init__(variable: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            original(variable, *args, **kwargs)
            made(variable)

        cls.__init__ = plain(__init__)

    def _wrap_assign(self, cls: Any, name: str) -> None:
        original = getattr(cls, name)
        collector, is_applying = self._collector, self._is_applying

        @functools.wraps(original)
        def assign(variable: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_applying():
                value = args[0] if args else kwargs.get("value", kwargs.get("delta"))
                known = collector.variables.of(variable)
                if known is not None:
                    collector.assigned(known, value, is_traced=not is_eager())
                collector.held(variable, known, is_new=name == "assign")
                collector.summed(variable, value)
            return original(variable, *args, **kwargs)

        setattr(cls, name, plain(assign))

    def _is_applying(self) -> bool:
        if self._replicas is not None and self._replicas.is_applying:
            return True
        return self._collector.is_inside(APPLYING)

    def _restored(self, handle: Any) -> None:
        if not self._is_applying():
            known = self._collector.variables.by_handle(handle)
            if known is not None:
                self._collector.assigned(known)

    def _computed(self, tape: Any, sources: Any, result: Any, is_begun: bool) -> None:
        trained, gradients = flat(sources), flat(result)
        if len(trained) != len(gradients):
            return
        known = [self._track(source) for source in trained]
        local = getattr(tape, "_local_sources", None)  # of Horovod's tape
        if local:
            _note_local(trained, known, local)
        # With what a loss is taken of, or begun with, other ranks may have a part of the model.
        is_part = is_begun or any(one is None for one in known)
        self._collector.computed(gradients, known, is_part)

    def _applied(self, optimizer: Any, pairs: list[Any], sums_first: bool = True) -> None:
        collector = self._collector
        if collector.is_known(optimizer, len(pairs)):
            return
        try:
            known = [(gradient, self._track(variable)) for gradient, variable in pairs]
        except (TypeError, ValueError):
            return  # the optimizer will say so itself
        local = getattr(optimizer, "_local_vars", None)  # of Horovod's optimizer
        helper = getattr(optimizer, "_agg_helper", None)
        local = local or getattr(helper, "_local_vars", None)
        if local:
            _note_local([pair[1] for pair in pairs], [pair[1] for pair in known], local)
        name = type(optimizer).__name__
        passes = getattr(helper, "backward_passes_per_step", 1)
        ways = [ACCUMULATED] if isinstance(passes, int) and passes > 1 else []
        # Of Horovod's wrapped ones some, and those under a strategy of TensorFlow's.
        reduces = _is_reducing(optimizer) or (self._replicas is not None and sums_first)
        collector.applied(optimizer, name, known, _steps_of(optimizer), ways, reduces)


def _steps_of(optimizer: Any) -> Callable[[], int] | None:
    """Reads the optimizer's own count of its steps."""
    ref = weakref.ref(optimizer)

    def steps() -> int:
        ops = sys.modules["tensorflow.python.framework.ops"]
        with ops.init_scope():
            return int(resource(ref().iterations).numpy())  # type: ignore[union-attr]

    return steps if hasattr(type(optimizer), "iterations") else None


def _is_reducing(optimizer: Any) -> bool:
    """Whether it is one of Horovod's whose ``apply_gradients`` may reduce what it is given: from
    TensorFlow 2.4 on those of Keras do it where they compute gradients, and there alone."""
    module = type(optimizer).__module__
    if module == "horovod._keras":
        return bool(getattr(sys.modules.get(module), "_PRE_TF_2_4_0", True))
    return module.partition(".")[0] == "horovod"


def _sums_first(kwargs: Any) -> bool:
    """Whether ``apply_gradients`` of Keras sums gradients over replicas, as it does unless it is
    told that the script has done so."""
    is_legacy_sum = kwargs.get("experimental_aggregate_gradients", True)
    return bool(is_legacy_sum) and not kwargs.get("skip_gradients_aggregation", False)


def _note_local(found: Iterable[Any], known: Iterable[Variable | None], local: Any) -> None:
    """Marks the variables that are registered to be trained by each rank alone."""
    for variable, one in zip(found, known):
        if one is not None and hasattr(variable, "ref") and variable.ref() in local:
            one.local = True
