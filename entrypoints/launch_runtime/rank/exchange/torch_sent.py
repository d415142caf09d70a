"""What a script hands to other ranks itself, until the steps of optimizers tell whose it was.

A collective is called with tensors. Whether one is a gradient is known at its optimizer's step, by
the place in memory where the gradient is then; what was left of it by an earlier exchange is not.
What no optimizer claims is nobody's: an activation, a metric, a buffer of many gradients.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, Callable, Sequence

from launch_runtime.rank.exchange.torch_memory import WHOLE, Carried
from launch_runtime.rank.exchange.variables import MOST


class Sent:
    """Since the last steps.

    Args:
        is_nobodys: Told of each tensor that no optimizer has claimed.
    """

    def __init__(self, is_nobodys: Callable[[Carried], None]):
        self._is_nobodys = is_nobodys
        # By place: results, and what went out.
        self._came: dict[int, Carried] = {}
        self._went: dict[int, Carried] = {}
        # What went out and may be claimed, by place as well: a tensor may go over several groups.
        self._waiting: dict[int, list[Carried]] = {}
        self._count = 0  # of those
        self._moment = 0  # steps so far, of all optimizers
        self._last: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def __bool__(self) -> bool:
        return bool(self._came or self._went)

    def went(self, carried: Carried, is_claimed: bool = False) -> None:
        """It went to other ranks; ``is_claimed`` where it is known by now whose it is."""
        carried.moment = self._moment
        _keep(self._went, carried)
        if is_claimed:
            return
        if self._count >= MOST:
            self._is_nobodys(carried)
            return
        self._count += 1
        self._waiting.setdefault(carried.place, []).append(carried)

    def came(self, carried: Carried) -> None:
        """It holds what an exchange gave."""
        carried.moment = self._moment
        _keep(self._came, carried)

    def is_known_at(self, place: int) -> bool:
        """Whether something lies or lay there."""
        return place in self._waiting or place in self._came

    def result_at(self, optimizer: Any, place: int, gradient: Any) -> Carried | None:
        """The result that a gradient of this optimizer is."""
        return self._found(self._came.get(place), optimizer, gradient)

    def given_at(self, optimizer: Any, place: int, gradient: Any) -> Carried | None:
        """The exchange that it went into. A sparse one has no place."""
        return self._found(self._went.get(place), optimizer, gradient) if place else None

    def claim(self, optimizer: Any, place: int, gradient: Any) -> list[Any]:
        """The groups over which this gradient went; what went there is this optimizer's."""
        self.result_at(optimizer, place, gradient)
        groups = []
        for one in self._waiting.get(place, ()):
            # Of what has no place the shape alone is known.
            if self._found(one, optimizer, gradient) and (place or one.shape == _shape(gradient)):
                # A buffer may hold more than the gradient that it begins with.
                one.is_claimed |= math.prod(one.shape) <= math.prod(_shape(gradient))
                groups.append(one.group)
        return groups

    def like(self, optimizer: Any, gradients: Sequence[Any]) -> Any:
        """The group over which went what may be copies of most of these gradients, or all of them
        in one buffer; None where nothing did."""
        since = self._last.get(optimizer, 0)
        groups = {
            one.shape: one.group
            for several in list(self._waiting.values())  # a thread may send more
            for one in several
            # What is gathered may be each rank's part of a model.
            if one.way == WHOLE and not one.is_claimed and one.moment >= since
        }
        sizes = {_shape(one): math.prod(one.shape) for one in gradients}
        total = sum(math.prod(one.shape) for one in gradients)
        if total and (total,) in groups:
            return groups[(total,)]
        found = [shape for shape in map(_shape, gradients) if shape in groups and sizes[shape] > 1]
        if found and 2 * sum(sizes[shape] for shape in found) >= total:
            return groups[max(found, key=lambda shape: sizes[shape])]
        return None

    def forget_values(self, place: int) -> None:
        """A parameter that is there was sent ahead of its training, and that is no part of it."""
        for one in self._waiting.get(place, ()):
            one.is_claimed |= one.is_there

    def stepped(self, optimizer: Any) -> None:
        """A step was told of: what is older than the one before it, or is gone, is nobody's."""
        last = self._last.get(optimizer, 0)
        self._moment += 1
        self._last[optimizer] = self._moment
        if not self._came and not self._went:
            return

        def is_kept(one: Carried) -> bool:
            return one.is_there and one.moment >= last

        for found in (self._came, self._went):
            # A thread of the script may add to it meanwhile.
            for place in [place for place, one in list(found.items()) if not is_kept(one)]:
                found.pop(place, None)
        self._leave(is_kept)

    def end(self) -> None:
        """Nobody will claim what is left."""
        self._leave(lambda one: False)

    def _leave(self, is_kept: Callable[[Carried], bool]) -> None:
        waiting, self._waiting, self._count = self._waiting, {}, 0
        for place, several in waiting.items():
            for one in several:
                if is_kept(one):
                    self._waiting.setdefault(place, []).append(one)
                    self._count += 1
                elif not one.is_claimed:
                    self._is_nobodys(one)

    def _found(self, one: Carried | None, optimizer: Any, gradient: Any) -> Carried | None:
        if one is None or one.moment < self._last.get(optimizer, 0) or not one.is_at(gradient):
            return None
        version = int(getattr(gradient, "_version", 0))
        # For a further optimizer it is the same as long as nothing has changed it.
        if one.place and one.version not in (None, version):
            return None
        one.version = version
        return one


def _keep(kept: dict[int, Carried], one: Carried) -> None:
    if one.place in kept or len(kept) < MOST:
        kept[one.place] = one


def _shape(tensor: Any) -> tuple[int, ...]:
    return tuple(int(dimension) for dimension in tensor.shape)
