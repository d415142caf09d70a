"""What hooks read of losses and batches, by stand-ins; real ranks are in test_real_ranks.py and in
tests/entrypoints/strategies.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from launch_runtime.rank.exchange import sample_hooks
from launch_runtime.rank.exchange.samples import Samples


class Collector:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self._samples = Samples()

    def sampled(self, kind: str, read: Callable[[], float]) -> None:
        self._samples.note(kind, read)

    def told(self) -> Any:
        return self._samples.record()


class Tensor:
    """One of TensorFlow."""

    def __init__(self, values: Any, dtype: Any = numpy.float32) -> None:
        self._values = numpy.asarray(values, dtype)
        self.shape = self._values.shape

    def numpy(self) -> Any:
        return self._values


class Loss:
    """One of PyTorch."""

    def __init__(self, value: float, elements: int = 1, size: int = 4, **more: Any) -> None:
        self._value, self._elements, self._size = value, elements, size
        self.__dict__.update(more)

    def numel(self) -> int:
        return self._elements

    def element_size(self) -> int:
        return self._size

    def detach(self) -> Any:
        return SimpleNamespace(item=lambda: self._value)


@pytest.fixture
def collector() -> Collector:
    return Collector()


@pytest.fixture
def backward(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``torch.autograd.backward``, which gives what it is called with."""
    monkeypatch.setattr(sample_hooks, "untraced", lambda original, watched: watched)
    module = SimpleNamespace(backward=lambda *args, **kwargs: (args, kwargs))
    for table in sample_hooks.torch(collector).values():  # type: ignore[arg-type]
        table(module)
    return module.backward


def test_backward_is_called_as_before_and_its_loss_told(
    backward: Any, collector: Collector
) -> None:
    loss, others = Loss(0.5), [Loss(0.25)]
    assert backward(loss, None, retain_graph=True) == ((loss, None), {"retain_graph": True})
    assert backward(others) == ((others,), {})
    assert collector.told() == {"losses": [[1, 0.5], [2, 0.25]]}


def test_a_backward_pass_within_another_one_is_none_of_its_own(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def backward(loss: Loss, layers: int = 0) -> None:
        for _ in range(layers):
            module.backward(Loss(9.0))

    monkeypatch.setattr(sample_hooks, "untraced", lambda original, watched: watched)
    module = SimpleNamespace(backward=backward)
    for table in sample_hooks.torch(collector).values():  # type: ignore[arg-type]
        table(module)
    for value in (0.5, 0.25):
        module.backward(Loss(value), layers=3)
    with pytest.raises(TypeError):
        module.backward(Loss(0.1), layers=None)
    module.backward(Loss(0.75))
    assert collector.told() == {"losses": [[1, 0.5], [2, 0.25], [3, 0.1], [4, 0.75]]}


@pytest.mark.parametrize(
    "tensors",
    [
        Loss(0.5, elements=8),
        Loss(0.5, size=2),
        Loss(0.5, placements=()),
        [Loss(0.5), Loss(0.5)],
        None,
    ],
    ids=["several values", "16 bits", "a part of it", "several losses", "none"],
)
def test_what_is_no_loss_to_compare_is_not_read(
    tensors: Any, backward: Any, collector: Collector
) -> None:
    backward(tensors)
    assert collector.told() == {}


def test_nothing_is_read_while_a_cuda_graph_is_made(
    backward: Any, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_hooks, "is_capturing", lambda: True)
    backward(Loss(0.5))
    assert collector.told() == {}


class TensorFlow:
    """The places that are hooked, eager unless a function is traced."""

    def __init__(self, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tracing = False
        monkeypatch.setattr(sample_hooks, "is_eager", lambda: not self.tracing)
        monkeypatch.setattr(sample_hooks, "plain", lambda function: function)

        class GradientTape:
            def gradient(self, target: Any, sources: Any, *, more: int = 0) -> Any:
                return ["gradients", sources, more]

        class Function:
            def __init__(self, python: Callable[..., Any]) -> None:
                self.python, self.is_traced = python, False

            def __call__(self, *args: Any, **kwargs: Any) -> Any:
                if not self.is_traced:
                    outer.tracing = True
                    self.python(*args, **kwargs)
                    outer.tracing, self.is_traced = False, True
                return "result"

        class CallbackList:
            def on_train_batch_end(self, batch: int, logs: Any = None) -> Any:
                return batch, logs

        outer = self
        table = sample_hooks.tensorflow(collector)  # type: ignore[arg-type]
        table["tensorflow.python.eager.backprop"](SimpleNamespace(GradientTape=GradientTape))
        function = SimpleNamespace(Function=Function)
        for name in ("eager.def_function", "eager.polymorphic_function.polymorphic_function"):
            table[f"tensorflow.python.{name}"](function)  # the second one is the first one's
        table["keras.callbacks"](SimpleNamespace(CallbackList=CallbackList))
        table["keras.src.callbacks"](SimpleNamespace())  # of Keras 3, a package
        self.tape, self.function, self.callbacks = GradientTape(), Function, CallbackList()


@pytest.fixture
def tensorflow(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> TensorFlow:
    return TensorFlow(collector, monkeypatch)


def test_what_an_eager_tape_differentiates_is_told(
    tensorflow: TensorFlow, collector: Collector
) -> None:
    assert tensorflow.tape.gradient(Tensor(0.5), ["v"], more=1) == ["gradients", ["v"], 1]
    tensorflow.tape.gradient([Tensor([1, 2]), Tensor(0.5)], ["v"])
    tensorflow.tape.gradient(Tensor(0.5, numpy.float16), ["v"])
    tensorflow.tape.gradient(object(), ["v"])
    assert collector.told() == {"losses": [[1, 0.5], [2, 3.5]]}


def test_a_function_that_trains_is_told_by_its_batches(
    tensorflow: TensorFlow, collector: Collector
) -> None:
    step = tensorflow.function(lambda *args, **kwargs: tensorflow.tape.gradient(None, ["v"]))
    variable = Tensor([7.0])
    variable.assign = None  # type: ignore[attr-defined]
    for batch in ([3.0, 4.0], [0.0, 2.0]):
        assert step(Tensor(batch), number=Tensor(9, int), own=variable) == "result"
    assert step({"pictures": numpy.full((2, 2), 2, numpy.uint8), "name": "x"}) == "result"
    assert [number for number, _ in collector.told()["batches"]] == [1, 2, 3]


def test_batches_that_differ_in_anything_have_other_checksums(
    tensorflow: TensorFlow, collector: Collector
) -> None:
    step = tensorflow.function(lambda *args: tensorflow.tape.gradient(None, ["v"]))
    for batch in ([1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [-1.0, -2.0]):
        step(Tensor(batch), Tensor(9, int))
    own = [value for _, value in collector.told()["batches"]]
    assert own[0] == own[1]
    assert len(set(own)) == 3


def test_other_functions_and_functions_within_are_not_told(
    tensorflow: TensorFlow, collector: Collector
) -> None:
    tensorflow.function(lambda batch: None)(Tensor([3.0, 4.0]))
    inner = tensorflow.function(lambda batch: tensorflow.tape.gradient(None, ["v"]))
    inner.is_traced = True
    outer = tensorflow.function(lambda: inner(Tensor([3.0, 4.0])))
    outer()
    assert collector.told() == {}


@pytest.mark.parametrize("batch", [Tensor(["a"], object), Tensor(3.0), "text", None])
def test_a_function_without_a_batch_of_numbers_tells_nothing(
    batch: Any, tensorflow: TensorFlow, collector: Collector
) -> None:
    tensorflow.function(lambda *args: tensorflow.tape.gradient(None, ["v"]))(batch)
    assert collector.told() == {}


def test_the_loss_that_keras_gives_its_callbacks_is_told(
    tensorflow: TensorFlow, collector: Collector
) -> None:
    logs = {"loss": Tensor(0.5), "accuracy": Tensor(0.25)}
    assert tensorflow.callbacks.on_train_batch_end(4, logs) == (4, logs)
    assert tensorflow.callbacks.on_train_batch_end(5, logs={"loss": 0.25}) == (5, {"loss": 0.25})
    assert tensorflow.callbacks.on_train_batch_end(6) == (6, None)
    assert collector.told() == {"losses": [[1, 0.5], [2, 0.25]]}
