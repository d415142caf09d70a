"""Whether what came from other ranks can be in the variables that a process trains.

TensorFlow's tensors don't change: a variable to which an optimizer applied its own gradients, and
which the script gave no value, holds nothing that came from other ranks, whatever went out. It may
where a loss was taken of what came, or where variables were made, or given values, since.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

from launch_runtime.rank.exchange.seen import MANY, Marks
from launch_runtime.rank.exchange.variables import UNKNOWN, Variable, Variables


class Reach:
    """Of one process.

    Args:
        variables: Those that were seen.
        steps: Gives the number of steps of all optimizers so far.

    Attributes:
        is_anywhere: What came may be in any variable.
        is_through: A gradient passed through an exchange.
    """

    def __init__(self, variables: Variables, steps: Callable[[], int]):
        self._variables, self._steps = variables, steps
        self._since: int | None = None  # the number of steps when something went first
        self._went = Marks()  # tensors as they went out
        self._made = Marks()  # variables that were made since
        self.is_anywhere = self.is_through = False

    @property
    def is_sent(self) -> bool:
        """Whether something went out that may be of a model."""
        return self._since is not None

    def sent(self, shape: Sequence[int | None], is_traced: bool, is_bytes: bool = False) -> None:
        """Something of this shape went to other ranks."""
        if self._since is not None:
            return
        known = tuple(int(dimension) for dimension in shape if dimension is not None)
        elements = 1
        for dimension in known:
            elements *= dimension
        elements //= 4 if is_bytes else 1
        if elements >= MANY or (elements > 1 and self._variables.have(known)):
            self._since = UNKNOWN if is_traced else self._steps()

    def went(self, tensor: Any) -> None:
        """This very tensor went out, which may be made of a gradient."""
        self._went.set(tensor, True)

    def is_as_sent(self, tensor: Any) -> bool:
        """Whether a tensor is one that went out, and not what came back."""
        return self._went.of(tensor) is not None

    def given(self, found: Any, shape: Callable[[], Sequence[int | None]], is_new: bool) -> None:
        """A variable that nobody trains is given a value.

        Args:
            found: The framework's object.
            shape: Gives its dimensions.
            is_new: What it held is gone.
        """
        if is_new:
            self._went.forget(found)
        if not self.is_sent or self.is_anywhere:
            return
        try:
            self.is_anywhere = self._variables.have(shape())
        except (TypeError, ValueError):  # of an unknown rank
            self.is_anywhere = True

    def made(self, found: Any) -> None:
        """A variable is made, maybe of what came."""
        if self.is_sent and not self.is_anywhere:
            self._made.set(found, True)

    def trained(self, variable: Variable) -> None:
        """An optimizer changes it: where it was made of what came, others may have been."""
        self.is_anywhere |= self._made.of(variable.found) is not None

    def came_back(self, is_of_horovod: bool) -> None:
        """An exchange is made while gradients are computed.

        Args:
            is_of_horovod: It is that of an exchange that the loss was taken of.
        """
        # Else it is of a layer whose exchange is none of the model.
        if self.is_sent or not is_of_horovod:
            self.is_anywhere = self.is_through = True

    def is_shut(self, variables: Sequence[Variable]) -> bool:
        """Whether nothing that came is in any of those that were trained, though something went
        before steps of theirs."""
        trained = [variable for variable in variables if variable.is_trained]
        if self.is_anywhere or not trained or not self._is_past(self._since):
            return False
        return all(variable.is_closed or variable.is_unused for variable in trained)

    def is_given(self, variables: Sequence[Variable]) -> bool:
        """Whether the script gave some of them values, after something went and before steps."""
        return any(self._is_past(variable.given_at) for variable in variables)

    def now(self, is_traced: bool) -> int | None:
        """The moment, where something went before it."""
        if not self.is_sent:
            return None
        return UNKNOWN if is_traced else self._steps()

    def _is_past(self, step: int | None) -> bool:
        return step is not None and (step == UNKNOWN or self._steps() > step)
