"""What hooks say of values that may have come from other ranks, and where they went."""

from __future__ import annotations

from typing import Any

from launch_runtime.rank.exchange.reach import Reach
from launch_runtime.rank.exchange.variables import WEIGHTS, Variable, Variables
from launch_runtime.rank.exchange.watching import Watching, quiet


class Reaching(Watching):
    """The part of a collector that follows them.

    Attributes:
        reach: What is known of them.
    """

    def _begin_reach(self, variables: Variables) -> None:
        self.reach = self._sets.reach = Reach(variables, self._steps)

    def _steps(self) -> int:
        return sum(one.steps() or 0 for one in self._sets)

    @quiet
    def held(self, found: Any, variable: Variable | None, is_new: bool) -> None:
        """The script gives a variable another value, or adds to it; ``variable`` stands for it
        where it was seen before."""
        if variable is None or variable.is_nobodys:
            self.reach.given(found, lambda: found.shape, is_new)

    @quiet
    def overwritten(self, found: Any, variable: Variable | None) -> None:
        """A broadcast gives a variable the value of another rank."""
        if variable is None or variable.is_nobodys:
            self.reach.given(found, lambda: found.shape, True)
        elif self.reach.is_sent:
            variable.is_renewed |= WEIGHTS in variable.hows
            self._given(variable)

    def _given(self, variable: Variable, is_traced: bool = False) -> None:
        """It has a value that may be made of what came."""
        variable.is_open = True
        if variable.given_at is None:
            variable.given_at = self.reach.now(is_traced)

    @quiet
    def reach_made(self, found: Any) -> None:
        """A variable is made."""
        self.reach.made(found)

    @quiet
    def came_back(self, is_of_horovod: bool) -> None:
        """See :meth:`Reach.came_back`."""
        self._telling.called()
        self.reach.came_back(is_of_horovod)
