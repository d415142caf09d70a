"""Models whose passes nobody sees: what a compiled DistributedDataParallel sends, no call of Python
makes. The counter of its group alone tells that something went, and how often.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Sequence

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.groups import Groups
    from launch_runtime.rank.exchange.torch_hooks import Hooks
    from launch_runtime.rank.exchange.variables import Variable
    from launch_runtime.rank.exchange.wrapped_models import WrappedModels


class _Kept(NamedTuple):
    """What an optimizer trained over a group when it was looked at last.

    Attributes:
        optimizer: A weak reference.
        variables: What it trains.
        ranks: Of the group.
        is_often: Whether something went over it at every second step of the optimizer at least.
    """

    optimizer: Any
    variables: list[Variable]
    ranks: Any
    is_often: bool


class UnseenPasses:
    """Those of this process.

    Args:
        groups: Over which they go.
        models: That were wrapped.
        hooks: Of the optimizers.
    """

    def __init__(self, groups: Groups, models: WrappedModels, hooks: Hooks):
        self._groups, self._models, self._hooks = groups, models, hooks
        self._kept: dict[tuple[int, int], _Kept] = {}

    def note(self, optimizer: Any, parameters: Sequence[Any], steps: int) -> None:
        """What an optimizer trains, since the script may drop it; ``steps`` is how many it made."""
        for group, ranks, is_often in self._seen(steps):
            variables = list(map(self._hooks.tracked, self._models.wrapped(parameters, group)))
            if variables:
                kept = _Kept(weakref.ref(optimizer), variables, ranks, is_often)
                self._kept[id(variables[0]), id(group)] = kept

    def found(
        self, parameters: Sequence[Any], steps: int
    ) -> Iterator[tuple[Sequence[Variable], Any]]:
        """What was trained by them, none where nobody knows what it was, and the ranks of the
        group.

        Args:
            parameters: Those that are still there.
            steps: The most that an optimizer made.
        """
        for kept in self._kept.values():
            if kept.optimizer() is None and kept.is_often:
                yield kept.variables, kept.ranks
        for group, ranks, is_often in self._seen(steps) if steps else ():
            if is_often:
                yield list(map(self._hooks.tracked, self._models.wrapped(parameters, group))), ranks

    def _seen(self, steps: int) -> Iterator[tuple[Any, Any, bool]]:
        """Groups, their ranks, and whether more went over each than Python called, at every second
        step at least: a model is trained by it."""
        groups = self._groups
        since = groups.at_first_step if steps > 1 else groups.born
        for group in groups.all():
            hidden, ranks = groups.hidden(group), groups.ranks_of(group)
            if hidden is None or ranks is None or id(group) not in since:
                continue
            if not self._models.count_for(group):  # else they know what went over it
                yield group, ranks, 2 * (hidden - since[id(group)]) >= max(steps - 1, 1)
