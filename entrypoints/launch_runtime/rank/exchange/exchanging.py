"""What hooks say of tensors that go to other ranks, and of what comes back."""

from __future__ import annotations

from typing import Any, Iterable, Sequence

from launch_runtime.evidence.records import ACCUMULATED
from launch_runtime.rank.exchange import BROADCAST
from launch_runtime.rank.exchange.reaching import Reaching
from launch_runtime.rank.exchange.seen import Marks
from launch_runtime.rank.exchange.variables import GRADIENTS, WEIGHTS, Variable, is_group
from launch_runtime.rank.exchange.watching import quiet


class Exchanging(Reaching):
    """The part of a collector that sees exchanges."""

    def _begin_exchange(self) -> None:
        self._gradients = Marks()  # a gradient -> the variable that it is of
        self._sums = Marks()  # a variable that gathers gradients -> the variable that they are of
        self._arrived = Marks()  # what an exchange gave -> the group that it went over
        self._has_begun = False  # a gradient was computed

    @quiet
    def summed(self, accumulator: Any, gradient: Any) -> None:
        """A variable gathers what may be the gradient of another one, over several passes."""
        variable = self._gradients.of(gradient)
        if variable is not None and not variable.is_of(accumulator):
            self._sums.set(accumulator, variable)

    @quiet
    def same(self, tensor: Any, other: Any) -> None:
        """``other`` holds what ``tensor`` does, in another type."""
        for marks in (self._gradients, self._sums, self._arrived):
            what = marks.of(tensor)
            if what is not None:
                marks.set(other, what)

    @quiet
    def reduced(
        self, variables: Iterable[Variable | None], group: Any, ways: Iterable[str] = ()
    ) -> None:
        """The gradients of these variables go through an exchange over ``group``."""
        self._telling.called()
        for variable in variables:
            if variable is not None:
                variable.is_reduced = True
                self._went(variable, GRADIENTS, group, ways)

    @quiet
    def exchanged(
        self,
        tensor: Any,
        shape: Sequence[int | None],
        group: Any,
        value: Any = None,
        *,
        is_now: bool = False,
        is_traced: bool = False,
        is_bytes: bool = False,
        ways: Iterable[str] = (),
    ) -> None:
        """A tensor goes to the other ranks of ``group``, and nobody has said whose it is.

        Args:
            tensor: As the script gave it.
            shape: Its dimensions; an unknown one is None.
            group: ``"all"``, or a list of ranks.
            value: The variable whose value it is, where it is one's.
            is_now: It goes now, and not whenever a function that is traced runs: ahead of the first
                gradient it is no training.
            is_traced: It goes whenever a function that is traced runs, however often.
            is_bytes: It holds bytes: a pickled object.
            ways: Of ``evidence.records.WAYS``.
        """
        self._telling.called()
        if is_now and not self.has_begun:
            return
        total, gradient = self._sums.of(tensor), self._gradients.of(tensor)
        if total is not None:
            self.reach.went(tensor)
            self._went(total, GRADIENTS, group, {*ways, ACCUMULATED})
        elif gradient is not None:
            self._went(gradient, GRADIENTS, group, ways)
        elif isinstance(value, Variable):
            self._went(value, WEIGHTS, group, ways)
            self.reach.sent(value.shape, is_traced)
            if value.is_nobodys:
                self._unclaimed.see_shape(value.shape, group)
        else:
            self.reach.went(tensor)
            self.reach.sent(shape, is_traced, is_bytes)
            if self._unclaimed.see(shape, group, is_bytes, is_traced):
                self._telling.news()

    @quiet
    def nobodys(self, shape: Sequence[int], group: Any) -> None:
        """A tensor of this shape went over ``group``, of which :meth:`sent` was told; no optimizer
        has claimed it."""
        if self._unclaimed.see(shape, group):
            self._telling.news()

    @property
    def has_begun(self) -> bool:
        """Whether training has begun: a gradient was computed, or an optimizer has made a step."""
        self._has_begun = self._has_begun or any(one.steps() != 0 for one in self._sets)
        return self._has_begun

    @quiet
    def arrived(self, tensor: Any, group: Any) -> None:
        """``tensor`` is what an exchange over ``group`` gave, or ``BROADCAST``."""
        if group == BROADCAST or is_group(group):
            self._arrived.set(tensor, group)

    @quiet
    def sent(self) -> None:
        """A broadcast, or a collective that carries no gradient."""
        self._telling.called()

    def carried(self, group: Any, elements: int, is_uncounted: bool = False) -> None:
        """So many elements of nobody went over ``group`` by now.

        Args:
            is_uncounted: By no call of Python.
        """
        if self._unclaimed.see([elements], group, is_uncounted=is_uncounted):
            self._telling.news()

    def passed(self) -> None:
        """One of them went to a single rank."""
        self._unclaimed.counts()

    def _went(self, variable: Variable, how: str, group: Any, ways: Iterable[str] = ()) -> None:
        new = group not in variable.groups
        variable.went(how, group, ways)
        if new and is_group(group):
            self._telling.news()
