"""Hooks where PyTorch's optimizers step, whatever exchanges their gradients.

A step of an optimizer is a call of Python here, so there is little to do at each: a whole look at
the parameters is taken at the first steps, and then ever more rarely. What an exchange took and
gave is known by its place in memory (``data_ptr``) until the next step, as long as that memory is
its own. A gradient that went into one, and is not where the result was left, has got that by a
copy, or not at all: what the ranks apply then is compared.
"""

from __future__ import annotations

import functools
import sys
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Sequence

from launch_runtime.rank.exchange import APPLYING, fingerprints, is_looked_at
from launch_runtime.rank.exchange.fingerprints import MOST_VALUES
from launch_runtime.rank.exchange.torch_memory import Carried
from launch_runtime.rank.exchange.untraced import untraced
from launch_runtime.rank.exchange.variables import MOST, Variable

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.collector import Collector


class Hooks:
    """Those of one process.

    Args:
        collector: Is told.

    Attributes:
        at_step: Called with the optimizer, those of its parameters that have gradients, and the
            number of the step, ahead of each step of an optimizer that is looked at.
        after_step: Called with the optimizer after each of its steps.
    """

    def __init__(self, collector: Collector):
        self._collector = collector
        self._steps: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._made: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._running: set[int] = set()  # numbers of optimizers that are in their step
        # By place, since the last step: results, and what went out.
        self._recent: dict[int, Carried] = {}
        self._given: dict[int, Carried] = {}
        self._places: dict[int, Variable] = {}  # of parameters' values
        self._shapes: set[tuple[int, ...]] = set()  # of parameters
        # Results of a parameter's shape since the last step, held so that no other tensor gets
        # their place: place -> the result, its group.
        self._results: dict[int, tuple[Any, Any]] = {}
        # Held by the variables alone, which give up what they read once it is dropped.
        self._readers: weakref.WeakValueDictionary[Variable, _Reader]
        self._readers = weakref.WeakValueDictionary()
        self.at_step: Callable[[Any, Sequence[Any], int], None] = lambda *_: None
        self.after_step: Callable[[Any], None] = lambda _: None

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
        hooks = self

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
                hooks.after_step(optimizer)

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
        if is_looked_at(count):
            # A step within another optimizer's is of the same gradients.
            self._look_at(optimizer, count, self._collector.is_inside(APPLYING) and not last)
        self._recent.clear()
        self._given.clear()
        self._results.clear()

    def _look_at(self, optimizer: Any, count: int, is_inner: bool) -> None:
        parameters = [one for one in _parameters(optimizer) if one.grad is not None]
        self.look_at_values(parameters)
        pairs = [(parameter.grad, self.tracked(parameter)) for parameter in parameters]
        if pairs:
            self.at_step(optimizer, parameters, count)
            ref, steps = weakref.ref(optimizer), self._steps
            name = type(optimizer).__name__
            self._collector.applied(optimizer, name, pairs, lambda: steps[ref()], (), is_inner)
        unfollowed = []
        for gradient, variable in pairs:
            place = _place(gradient)
            came, went = self._recent.get(place), self._given.get(place)
            if came is not None and came.is_at(_own(gradient)):
                self._collector.reduced([variable], came.group)
            elif place and went is not None and went.is_at(_own(gradient)):
                unfollowed.append((gradient, variable, went.group))
        if unfollowed and not is_capturing():
            self._collector.unfollowed(optimizer, count, unfollowed, _values)
        self._collector.took(optimizer, [variable for _, variable in pairs])

    def look_at_values(self, parameters: Iterable[Any]) -> None:
        """Notes the parameters that were given what an exchange left, since the last step:
        ``parameter.data = averaged``."""
        for parameter in parameters if self._results else ():
            result, group = self._results.get(_place(parameter), (None, None))
            shape = tuple(_own(parameter).shape)
            if result is not None and tuple(result.shape) == shape:
                self._collector.exchanged(parameter, list(shape), group, self.tracked(parameter))

    def look_at_compiled(self) -> None:
        """Notes the optimizers whose steps torch.compile has made its own: they were never seen to
        step, and their parameters have gradients and have changed."""
        for optimizer, changes in list(self._made.items()):
            if optimizer not in self._steps and _changes(optimizer) > changes:
                self._steps[optimizer] = 1
                self._look_at(optimizer, 1, True)

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
            self._shapes.add(known.shape)
        return known

    def parameters(self) -> list[Any]:
        """Those of all optimizers that have made a step and are still there."""
        return [parameter for _, known in self.optimized() for parameter in known]

    def optimized(self) -> Iterator[tuple[Any, list[Any]]]:
        """The optimizers that have made a step and are still there, with their parameters."""
        for optimizer in list(self._steps):
            known = [one for one in _parameters(optimizer) if self._known(one) is not None]
            yield optimizer, known

    def most_steps(self) -> int:
        """The steps of that optimizer that has made most."""
        return max(self._steps.values(), default=0)

    def exchanged(self, given: Iterable[Any], outputs: Iterable[Any], group: Any) -> None:
        """These tensors go over ``group``, and what comes is in ``outputs``."""
        for tensor in given:
            self._collector.exchanged(tensor, list(tensor.shape), group, self._value(tensor))
            if len(self._given) < MOST:
                self._given[_place(tensor)] = Carried(_own(tensor), group)
        for tensor in outputs:
            if hasattr(tensor, "data_ptr") and len(self._recent) < MOST:
                place = _place(tensor)
                self._recent[place] = Carried(_own(tensor), group)
                if place and tuple(_own(tensor).shape) in self._shapes:
                    self._results[place] = (_own(tensor).detach(), group)

    def _value(self, tensor: Any) -> Variable | None:
        """The parameter whose values these are; none of one that has moved away from there."""
        place = _place(tensor)
        value = self._places.get(place)
        reader = self._readers.get(value) if value is not None else None
        if value is None or reader is None or value.shape != tuple(tensor.shape):
            return None
        return value if reader.place == place else None


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


def is_capturing() -> bool:
    """Whether a CUDA graph is made, in which nothing may be read."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():  # without a driver the other question raises
        return False
    return hasattr(cuda, "is_current_stream_capturing") and bool(cuda.is_current_stream_capturing())


def _values(tensor: Any, most: int = fingerprints.MOST_APPLIED_VALUES) -> Any:
    """The first ``most`` of them as a NumPy array."""
    values = _own(tensor).detach()
    if not values.is_floating_point():
        raise ValueError("no real numbers")
    return values.reshape(-1)[:most].float().cpu().numpy()


class _Reader:
    """Reads a parameter, or its storage once it is gone."""

    def __init__(self, parameter: Any):
        self._ref = weakref.ref(parameter)
        self.hold(parameter)

    @property
    def place(self) -> int:
        """Where the parameter's values begin; 0 once it is gone."""
        alive = self._ref()
        return 0 if alive is None else _place(alive)

    def hold(self, parameter: Any) -> None:
        """Its storage is where it is now."""
        self._storage = _own(parameter).detach()

    def __call__(self) -> Any:
        alive = self._ref()
        return _values(self._storage if alive is None else alive, MOST_VALUES)
