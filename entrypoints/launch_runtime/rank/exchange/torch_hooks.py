"""Hooks where PyTorch's optimizers step, whatever exchanges their gradients.

A step of an optimizer is a call of Python here, so there is little to do at each: a whole look at
the parameters is taken at the first steps, and then ever more rarely. What an exchange took and
gave is known by its place in memory (``data_ptr``) until the next step, as long as that memory is
its own (torch_sent.py). Where a gradient is a result, it may have been computed anew since; where
it went into an exchange and is elsewhere, it has got the result by a copy, or not at all: what the
ranks apply then is compared.
"""

from __future__ import annotations

import functools
import math
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Sequence

from launch_runtime.evidence.records import LIKE, OWN
from launch_runtime.rank.exchange import APPLYING, is_looked_at
from launch_runtime.rank.exchange.torch_memory import PART, TO_ME, WHOLE, Carried
from launch_runtime.rank.exchange.torch_parameters import Parameters
from launch_runtime.rank.exchange.torch_sent import Sent
from launch_runtime.rank.exchange.torch_tensors import is_capturing, own, place_of, values_of
from launch_runtime.rank.exchange.untraced import untraced
from launch_runtime.rank.exchange.variables import MOST, Variable

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.collector import Collector

_MOST_NEWS = 64  # of an optimizer, for which it is looked at beside the usual steps


class Hooks:
    """Those of one process.

    Args:
        collector: Is told.

    Attributes:
        at_step: Called with the optimizer, those of its parameters that have gradients, and the
            number of the step, ahead of each step of an optimizer that is looked at.
        after_step: Called with the optimizer after each of its steps.
        at_nobodys: Called with what went to other ranks and is of no optimizer.
    """

    def __init__(self, collector: Collector):
        self._collector = collector
        self._steps: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._made: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._news: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._running: set[int] = set()  # numbers of optimizers that are in their step
        self._sent = Sent(self._is_nobodys)
        self._parameters = Parameters(collector.variables, self._sent.forget_values)
        # Results of a parameter's shape since the last step, held so that no other tensor gets
        # their place: place -> the result, its group.
        self._results: dict[int, tuple[Any, Any]] = {}
        self.at_step: Callable[[Any, Sequence[Any], int], None] = lambda *_: None
        self.after_step: Callable[[Any], None] = lambda _: None
        self.at_nobodys: Callable[[Carried], None] = lambda _: None

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
        collector, known = self._collector, self._parameters.known

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
        if is_looked_at(count) or self._is_news(optimizer):
            # A step within another optimizer's is of the same gradients.
            self._look_at(optimizer, count, self._collector.is_inside(APPLYING) and not last)
        self._sent.stepped(optimizer)
        self._results.clear()
        self._collector.stepped()

    def _is_news(self, optimizer: Any) -> bool:
        """Whether a gradient went over a group over which it has not gone before; claims those
        that went."""
        is_news = False
        for parameter in _parameters(optimizer) if self._sent else ():
            place = 0 if parameter.grad is None else place_of(parameter.grad)
            if parameter.grad is not None and self._sent.is_known_at(place):
                variable = self._parameters.known(parameter)
                groups = self._sent.claim(optimizer, place, own(parameter.grad))
                known = variable.groups if variable is not None else ()
                is_news |= any(group not in known for group in groups)
        # What cannot be noted would be news for ever.
        self._news[optimizer] = self._news.get(optimizer, 0) + is_news
        return is_news and self._news[optimizer] <= _MOST_NEWS

    def _look_at(self, optimizer: Any, count: int, is_inner: bool) -> None:
        parameters = [one for one in _parameters(optimizer) if one.grad is not None]
        self.look_at_values(parameters)
        pairs = [(parameter.grad, self.tracked(parameter)) for parameter in parameters]
        if pairs:
            self.at_step(optimizer, parameters, count)
            ref, steps = weakref.ref(optimizer), self._steps
            name = type(optimizer).__name__
            self._collector.applied(optimizer, name, pairs, lambda: steps[ref()], (), is_inner)
        self._look_at_sent(optimizer, count, pairs)
        self._collector.took(optimizer, [variable for _, variable in pairs])

    def _look_at_sent(
        self, optimizer: Any, count: int, pairs: Sequence[tuple[Any, Variable]]
    ) -> None:
        """Notes the gradients that went to other ranks, and keeps what is about to be applied of
        them where that may be something else."""
        if not self._sent:
            return
        collector, is_own = self._collector, True
        followed, unfollowed = [], []
        for gradient, variable in pairs:
            part, place = own(gradient), place_of(gradient)
            groups = self._sent.claim(optimizer, place, part)
            came = self._sent.result_at(optimizer, place, part)
            went = self._sent.given_at(optimizer, place, part)
            if came is not None:
                for group in (*(one for one in groups if one != came.group), came.group):
                    collector.reduced([variable], group)
                variable.is_whole &= came.way != PART
                if came.way == WHOLE:
                    followed.append((gradient, variable, came.group))
            elif went is not None:
                over = (went.group, *(one for one in groups if one != went.group))
                unfollowed += [(gradient, variable, group) for group in over]
                is_own &= went.way == TO_ME
        if is_capturing():
            return
        if unfollowed:
            collector.unfollowed(optimizer, count, unfollowed, values_of, OWN if is_own else "")
        elif followed:
            collector.followed(optimizer, count, followed, values_of)
        else:
            self._look_at_like(optimizer, count, pairs)

    def _look_at_like(
        self, optimizer: Any, count: int, pairs: Sequence[tuple[Any, Variable]]
    ) -> None:
        """The same where something like the gradients went, which may have been copies of them."""
        group = self._sent.like(optimizer, [own(gradient) for gradient, _ in pairs])
        if group is not None:
            alike = [(gradient, variable, group) for gradient, variable in pairs]
            self._collector.followed(optimizer, count, alike, values_of, LIKE)

    def look_at_values(self, parameters: Iterable[Any]) -> None:
        """Notes the parameters that were given what an exchange left, since the last step:
        ``parameter.data = averaged``."""
        for parameter in parameters if self._results else ():
            result, group = self._results.get(place_of(parameter), (None, None))
            shape = tuple(own(parameter).shape)
            if result is not None and tuple(result.shape) == shape:
                self._collector.exchanged(parameter, list(shape), group, self.tracked(parameter))

    def look_at_compiled(self) -> None:
        """Notes the optimizers whose steps torch.compile has made its own: they were never seen to
        step, and their parameters have gradients and have changed."""
        for optimizer, changes in list(self._made.items()):
            if optimizer not in self._steps and _changes(optimizer) > changes:
                self._steps[optimizer] = 1
                self._look_at(optimizer, 1, True)

    def tracked(self, parameter: Any) -> Variable:
        """What stands for a parameter, from its first step on."""
        return self._parameters.tracked(parameter)

    def parameters(self) -> list[Any]:
        """Those of all optimizers that have made a step and are still there."""
        return [parameter for _, known in self.optimized() for parameter in known]

    def optimized(self) -> Iterator[tuple[Any, list[Any]]]:
        """The optimizers that have made a step and are still there, with their parameters."""
        for optimizer in list(self._steps):
            known = [
                one for one in _parameters(optimizer) if self._parameters.known(one) is not None
            ]
            yield optimizer, known

    def steps_of(self, optimizer: Any) -> int:
        """The steps that it has made."""
        return self._steps.get(optimizer, 0)

    def most_steps(self) -> int:
        """The steps of that optimizer that has made most."""
        return max(self._steps.values(), default=0)

    def exchanged(
        self, given: Sequence[Any], outputs: Iterable[Any], group: Any, way: str = WHOLE
    ) -> None:
        """These tensors go over ``group``, and what comes is in ``outputs``.

        Args:
            way: See :class:`Carried`.
        """
        total = sum(math.prod(tensor.shape) for tensor in given)
        for tensor in given:
            value = self._parameters.valued_by(tensor)
            if value is None:
                self._collector.sent()
            else:
                self._collector.exchanged(tensor, list(tensor.shape), group, value)
            carried = Carried(own(tensor), group, place_of(tensor), way, total)
            self._sent.went(carried, is_claimed=value is not None)
        for tensor in outputs:
            if hasattr(tensor, "data_ptr"):
                place = place_of(tensor)
                self._sent.came(Carried(own(tensor), group, place, way))
                is_like_one = place and self._collector.variables.have(own(tensor).shape)
                if is_like_one and len(self._results) < MOST:
                    self._results[place] = (own(tensor).detach(), group)

    def end(self) -> None:
        """The last word is about to be said."""
        self._sent.end()

    def _is_nobodys(self, carried: Carried) -> None:
        self._collector.nobodys(carried.shape, carried.group)
        self.at_nobodys(carried)


def _parameters(optimizer: Any) -> list[Any]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _changes(optimizer: Any) -> int:
    """How often its parameters were changed in place, by anything."""
    return sum(int(getattr(one, "_version", 0)) for one in _parameters(optimizer))
