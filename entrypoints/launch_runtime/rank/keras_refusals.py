"""Refuses what Horovod has for Keras where it meets Keras 3, before the first step.

Horovod 0.28.1's optimizer wrapper silently does nothing on a Keras 3 optimizer, so that every
rank trains alone; its tape, its broadcast and its callbacks fail somewhere inside
(docs/keras.md). The lines that the refusals show run on Keras 3.15 with TensorFlow 2.18.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Sequence

from launch_runtime import lines
from launch_runtime.rank.exchange.tensorflow_variables import plain
from launch_runtime.rank.import_hook import when_imported
from launch_runtime.rank.refusal import RefusalError

Refuse = Callable[[RefusalError], None]  # does not return

_OPTIMIZER = (
    "class Averaged(keras.optimizers.Adam):",
    "    def apply(self, grads, trainable_variables=None):",
    "        grads = [g if g is None else hvd.allreduce(g) for g in grads]",
    "        super().apply(grads, trainable_variables)",
    "model.compile(optimizer=Averaged(0.001), loss=loss, jit_compile=False)",
)
_TAPE = (
    "gradients = tape.gradient(loss, model.trainable_variables)  # of a plain tf.GradientTape",
    "gradients = [g if g is None else hvd.allreduce(g) for g in gradients]",
    "optimizer.apply_gradients(zip(gradients, model.trainable_variables))",
)
_BROADCAST = (
    "# once the model is built, before fit() or the first step",
    "hvd.broadcast_variables([v.value for v in model.variables], root_rank=0)",
)
_METRICS = (
    "class Average(keras.callbacks.Callback):",
    "    def on_epoch_end(self, epoch, logs=None):",
    "        for name in sorted(logs or {}):",
    "            logs[name] = float(hvd.allreduce(tf.constant(float(logs[name]))))",
)
_RATE = (
    "keras.callbacks.LearningRateScheduler(",
    "    lambda epoch: base_rate * min(1.0, (epoch + 1) / warmup_epochs))",
)
_CALLBACKS = {
    "BroadcastGlobalVariablesCallbackImpl": _BROADCAST,
    "MetricAverageCallbackImpl": _METRICS,
    "LearningRateScheduleCallbackImpl": _RATE,
    "LearningRateWarmupCallbackImpl": _RATE,
}


class KerasRefusalError(RefusalError):
    """A refusal that shows the lines which work.

    Args:
        found: What the script has done.
        cause: Why that cannot be right.
        code: Lines of Python.
    """

    def __init__(self, found: str, cause: str, code: Sequence[str]):
        super().__init__(
            "Keras 2 where Horovod's Keras parts are used",
            found,
            cause,
            "--keras 2 runs the script on Keras 2 (needs the package tf-keras); on Keras 3 these "
            "lines work:",
        )
        self.code = code

    def explanation(self) -> list[str]:
        """The lines for people; those of Python as they are written."""
        return [*super().explanation(), *(f"{lines.PREFIX}    {line}" for line in self.code)]


def install(refuse: Refuse) -> None:
    """Watches Horovod's Keras parts; ``refuse`` ends the rank."""
    when_imported(
        {
            "horovod._keras": functools.partial(_watch_optimizers, refuse),
            "horovod._keras.callbacks": functools.partial(_watch_callbacks, refuse),
            "horovod.tensorflow": functools.partial(_watch_tape, refuse),
            "horovod.tensorflow.functions": functools.partial(_watch_broadcast, refuse),
            "horovod.tensorflow.elastic": functools.partial(_watch_state, refuse),
        }
    )


def is_of_keras_3(thing: Any) -> bool:
    """Whether an object, or a class, is made of the package ``keras`` in version 3."""
    kind = thing if isinstance(thing, type) else type(thing)
    if not any(base.__module__.partition(".")[0] == "keras" for base in kind.__mro__):
        return False
    version = str(getattr(sys.modules.get("keras"), "__version__", ""))
    return version.partition(".")[0] not in ("", "1", "2")


def _watch_optimizers(refuse: Refuse, module: Any) -> None:
    create, load = module.create_distributed_optimizer, module.load_model

    @functools.wraps(create)
    def create_distributed_optimizer(keras: Any, optimizer: Any, *rest: Any, **named: Any) -> Any:
        if is_of_keras_3(optimizer):
            refuse(
                KerasRefusalError(
                    f"hvd.DistributedOptimizer around {type(optimizer).__name__} of {_keras()}",
                    "on a Keras 3 optimizer Horovod's wrapper does nothing, and every rank "
                    "would train alone",
                    (*_OPTIMIZER, *_BROADCAST),
                )
            )
        return create(keras, optimizer, *rest, **named)

    @functools.wraps(load)
    def load_model(keras: Any, *rest: Any, **named: Any) -> Any:
        if is_of_keras_3(keras.optimizers.Optimizer):
            refuse(
                KerasRefusalError(
                    f"hvd.load_model with {_keras()}",
                    "it gives a Keras 3 model its optimizer without Horovod's wrapper",
                    ("model = keras.saving.load_model(path)", *_OPTIMIZER, *_BROADCAST),
                )
            )
        return load(keras, *rest, **named)

    module.create_distributed_optimizer = create_distributed_optimizer
    module.load_model = load_model


def _watch_callbacks(refuse: Refuse, module: Any) -> None:
    for name, code in _CALLBACKS.items():
        _before_init(getattr(module, name, None), functools.partial(_callback, refuse, code))


def _callback(refuse: Refuse, code: Sequence[str], made: Any, *_: Any, **__: Any) -> None:
    if is_of_keras_3(made):
        found = f"hvd.callbacks.{type(made).__name__} with {_keras()}"
        refuse(KerasRefusalError(found, "Horovod's callbacks are written for Keras 2", code))


def _watch_state(refuse: Refuse, module: Any) -> None:
    def before(made: Any, model: Any = None, *_: Any, **__: Any) -> None:
        if is_of_keras_3(model):
            code = (
                "state = hvd.elastic.ObjectState(hvd.broadcast_object, hvd.rank, epoch=0)",
                *_BROADCAST,
            )
            cause = "Horovod's elastic state is written for Keras 2"
            refuse(KerasRefusalError(f"{type(made).__name__} with {_keras()}", cause, code))

    _before_init(getattr(module, "TensorFlowKerasState", None), before)


def _watch_tape(refuse: Refuse, module: Any) -> None:
    tape = getattr(module, "_DistributedGradientTape", None)
    if tape is None:
        return
    original = tape.gradient

    @functools.wraps(original)
    def gradient(self: Any, target: Any, sources: Any, *rest: Any, **named: Any) -> Any:
        if _holds_keras_3(sources):
            refuse(
                KerasRefusalError(
                    f"hvd.DistributedGradientTape with variables of {_keras()}",
                    "it cannot take a Keras 3 variable",
                    (*_TAPE, *_BROADCAST),
                )
            )
        return original(self, target, sources, *rest, **named)

    tape.gradient = plain(gradient)


def _watch_broadcast(refuse: Refuse, module: Any) -> None:
    original = module.broadcast_variables

    @functools.wraps(original)
    def broadcast_variables(variables: Any, *rest: Any, **named: Any) -> Any:
        if _holds_keras_3(variables):
            refuse(
                KerasRefusalError(
                    f"hvd.broadcast_variables with variables of {_keras()}",
                    "it needs TensorFlow's own variables, which Keras 3 has in .value",
                    _BROADCAST,
                )
            )
        return original(variables, *rest, **named)

    module.broadcast_variables = plain(broadcast_variables)


def _before_init(kind: Any, before: Callable[..., None]) -> None:
    if kind is None:
        return
    original = kind.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        before(self, *args, **kwargs)
        original(self, *args, **kwargs)

    kind.__init__ = init


def _holds_keras_3(variables: Any) -> bool:
    """Looks at the first one: a model's variables are all of one kind."""
    if isinstance(variables, (list, tuple)):
        return bool(variables) and is_of_keras_3(variables[0])
    return is_of_keras_3(variables)


def _keras() -> str:
    version = str(getattr(sys.modules.get("keras"), "__version__", "3"))
    return "Keras " + ".".join(version.split(".")[:2])
