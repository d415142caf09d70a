"""Hooks that see losses and batches, so that ranks which train on the same samples can be told.

Of TensorFlow: the target of a ``GradientTape``, what a ``tf.function`` that trains is called with,
and the loss that Keras gives its callbacks after a batch; inside a ``tf.function`` nothing is read.
Of PyTorch: what ``backward()`` is called on. A value is read at few steps alone.
"""

from __future__ import annotations

import functools
import sys
import weakref
import zlib
from typing import TYPE_CHECKING, Any, Mapping

from launch_runtime.evidence.records import BATCHES, LOSSES
from launch_runtime.rank.exchange.structures import flat
from launch_runtime.rank.exchange.tensorflow_variables import is_eager, plain
from launch_runtime.rank.exchange.torch_tensors import is_capturing
from launch_runtime.rank.exchange.untraced import untraced
from launch_runtime.rank.import_hook import OnImport

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.collector import Collector

# Where tf.function's class is: TensorFlow 2.4 to 2.10, and from 2.11 on.
_FUNCTIONS = (
    "tensorflow.python.eager.def_function",
    "tensorflow.python.eager.polymorphic_function.polymorphic_function",
)
# Where Keras' CallbackList is: 2.4, 2.6 to 2.12, 2.13 to 2.15, tf-keras, Keras 3.
_CALLBACKS = (
    "tensorflow.python.keras.callbacks",
    "keras.callbacks",
    "keras.src.callbacks",
    "tf_keras.src.callbacks",
    "keras.src.callbacks.callback_list",
)
_MOST_VALUES = 1 << 16  # of a tensor that are looked at; the first ones
_BYTES_OF_A_LOSS = 4  # at least: in 16 bits the losses of other samples are often equal


def tensorflow(collector: Collector) -> Mapping[str, OnImport]:
    """Module -> what is to be done with it once it is there."""
    hooks = _TensorFlow(collector)
    return {
        "tensorflow.python.eager.backprop": hooks.tape,
        **dict.fromkeys(_FUNCTIONS, hooks.functions),
        **dict.fromkeys(_CALLBACKS, hooks.callbacks),
    }


def torch(collector: Collector) -> Mapping[str, OnImport]:
    """The same of PyTorch."""
    return {"torch.autograd": functools.partial(_backward, collector)}


class _TensorFlow:
    def __init__(self, collector: Collector):
        self._collector = collector
        self._traced = 0  # gradients of functions that were traced
        self._steps: weakref.WeakSet[Any] = weakref.WeakSet()  # functions in which some were

    def tape(self, module: Any) -> None:
        """``tensorflow.python.eager.backprop``."""
        original = module.GradientTape.gradient
        collector, trace = self._collector, self._trace

        @functools.wraps(original)
        def gradient(tape: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if is_eager():
                collector.sampled(LOSSES, lambda: _sum(target))
            else:
                trace()
            return original(tape, target, *args, **kwargs)

        module.GradientTape.gradient = plain(gradient)

    def _trace(self) -> None:
        self._traced += 1

    def functions(self, module: Any) -> None:
        """The module of ``tf.function``."""
        cls: Any = getattr(module, "Function", None)
        if cls is None or getattr(cls.__call__, "launch_watches", False):
            return
        original, called = cls.__call__, self._called

        @functools.wraps(original)
        def __call__(function: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if not is_eager():
                return original(function, *args, **kwargs)
            return called(original, function, args, kwargs)

        __call__.launch_watches = True  # type: ignore[attr-defined]
        cls.__call__ = plain(__call__)

    def _called(self, original: Any, function: Any, args: Any, kwargs: Any) -> Any:
        traced = self._traced
        result = original(function, *args, **kwargs)
        if self._traced > traced:
            self._steps.add(function)
        if function in self._steps:
            self._collector.sampled(BATCHES, lambda: _checksum(args, kwargs))
        return result

    def callbacks(self, module: Any) -> None:
        """A module that may have Keras' CallbackList."""
        cls: Any = getattr(module, "CallbackList", None)
        original = getattr(cls, "on_train_batch_end", None)
        if original is None or getattr(original, "launch_watches", False):
            return
        collector = self._collector

        @functools.wraps(original)
        def on_train_batch_end(callbacks: Any, batch: Any, logs: Any = None) -> Any:
            collector.sampled(LOSSES, lambda: _sum(logs["loss"]))
            return original(callbacks, batch, logs)

        on_train_batch_end.launch_watches = True  # type: ignore[attr-defined]
        cls.on_train_batch_end = plain(on_train_batch_end)


def _backward(collector: Collector, module: Any) -> None:
    """``torch.autograd``."""
    original = module.backward
    running = [0]  # a backward pass may call others, as recomputed activations do

    def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        if not running[0] and _is_loss(tensors):
            collector.sampled(LOSSES, lambda: _loss(tensors))
        running[0] += 1
        try:
            return original(tensors, *args, **kwargs)
        finally:
            running[0] -= 1

    module.backward = untraced(original, backward)


def _is_loss(tensors: Any) -> bool:
    """Whether it is one number, and no part of one that several ranks have."""
    several = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    if len(several) != 1 or hasattr(several[0], "placements"):
        return False
    numel = getattr(several[0], "numel", None)
    return numel is not None and numel() == 1


def _loss(tensors: Any) -> float:
    """The value of a loss of PyTorch.

    Raises:
        ValueError: It cannot be compared, or is not to be read now.
    """
    (loss,) = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    if loss.element_size() < _BYTES_OF_A_LOSS or is_capturing():
        raise ValueError("no loss that could be compared")
    return float(loss.detach().item())


def _sum(target: Any) -> float:
    """The sum of what is differentiated, a tensor or several."""
    return float(sum(float(_values(one).sum()) for one in flat(target)))


def _checksum(args: Any, kwargs: Any) -> float:
    """Of the first values of all tensors that a function was called with, and that can be a batch.

    Raises:
        ValueError: There is none.
    """
    found = [
        _values(leaf).reshape(-1)[:_MOST_VALUES]
        for leaf in flat([args, kwargs])
        if hasattr(leaf, "shape") and len(leaf.shape) and not hasattr(leaf, "assign")
    ]
    if not found:
        raise ValueError("no batch")
    checksum = 0
    for values in found:
        checksum = zlib.crc32(values.tobytes(), checksum)
    return float(checksum)


def _values(tensor: Any) -> Any:
    """A tensor of TensorFlow, or an array, as an array of real numbers."""
    numpy = sys.modules["numpy"]
    values = numpy.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)
    if values.dtype.kind not in "fiub" or (
        values.dtype.kind == "f" and values.dtype.itemsize < _BYTES_OF_A_LOSS
    ):
        raise ValueError("no real numbers")
    return values
