"""TensorFlow's variables, whatever holds them, and what stands for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable

from launch_runtime.rank.exchange.fingerprints import MOST_VALUES
from launch_runtime.rank.exchange.variables import Variable

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.collector import Collector


def tracked(collector: Collector, found: Any) -> Variable | None:
    """What stands for a TensorFlow or Keras variable; None for anything else."""
    found = resource(found)
    known = collector.variables.of(found)
    if known is not None:
        return known
    handle = getattr(found, "handle", None)
    # A variable of a TensorFlow 1 graph may have no handle: nobody reads it without a session.
    if not hasattr(found, "assign") or (handle is None and not hasattr(found, "_ref")):
        return None
    try:
        shape = [int(dimension) for dimension in found.shape]
        return collector.variables.keep(found, shape, _reader(handle, found.dtype), handle)
    except (TypeError, ValueError):
        return None


def seen(collector: Collector, found: Any) -> Variable | None:
    """The same of one that was seen before; None for a further one."""
    return collector.variables.of(resource(found))


def is_eager() -> bool:
    """Whether an operation runs now, and is not traced into a function."""
    context = sys.modules.get("tensorflow.python.eager.context")
    return context is not None and bool(context.executing_eagerly())


def plain(function: Any) -> Any:
    """``function``, which AutoGraph shall call as it is and not rewrite."""
    function.autograph_info__ = {}
    return function


def resource(found: Any) -> Any:
    """The resource variable inside Keras's own kinds of variables, and inside one that several
    replicas hold: this process's first."""
    for _ in range(3):
        fields = getattr(found, "__dict__", {})
        replicas = fields.get("_values")
        if isinstance(replicas, tuple) and replicas:
            found = replicas[0]
            continue
        inner = [fields[name] for name in ("_variable", "_value") if name in fields]
        # Of the class: a variable of several replicas has none to give outside of a replica.
        inner = [one for one in inner if hasattr(type(one), "handle")]
        if not inner:
            break
        found = inner[0]
    return found


def _reader(handle: Any, dtype: Any) -> Callable[[], Any]:
    """Reads a variable by its handle, so that the variable itself may go."""

    def read() -> Any:
        modules = sys.modules
        ops = modules["tensorflow.python.framework.ops"]
        raw = modules["tensorflow.python.ops.gen_resource_variable_ops"]
        with ops.init_scope():
            value = raw.read_variable_op(handle, dtype)
            if value.shape.num_elements() > MOST_VALUES:
                array_ops = modules["tensorflow.python.ops.array_ops"]
                value = array_ops.reshape(value, [-1])[:MOST_VALUES]
            if not value.dtype.is_floating:
                raise ValueError("no real numbers")
            return value.numpy()

    return read
