"""The sets in which the optimizers of a process train its variables."""

from __future__ import annotations

import time
from typing import Any, Callable, Iterator

from launch_runtime.evidence.records import FEW
from launch_runtime.rank.exchange import fingerprints, set_records
from launch_runtime.rank.exchange.reach import Reach
from launch_runtime.rank.exchange.seen import Unclaimed
from launch_runtime.rank.exchange.trained_set import BY_HAND, TrainedSet
from launch_runtime.rank.exchange.variables import VALUES

_MOST_SETS = 64


class TrainedSets:
    """Those of one process, in the order in which they were seen.

    Args:
        unclaimed: See :class:`TrainedSet`.

    Attributes:
        reach: Tells what may have come into variables, where somebody knows.
    """

    def __init__(self, unclaimed: Unclaimed) -> None:
        self.reach: Reach | None = None
        self._unclaimed = unclaimed
        self._all: list[TrainedSet] = []
        self._by_owner: dict[int, TrainedSet] = {}
        self._by_hand: TrainedSet | None = None

    def __iter__(self) -> Iterator[TrainedSet]:
        return iter(list(self._all))  # a thread counts while the script makes another one

    def __len__(self) -> int:
        return len(self._all)

    def of(self, owner: Any) -> TrainedSet | None:
        """What that very optimizer trains, where it was seen before."""
        known = self._by_owner.get(id(owner))
        return known if known is not None and known.is_of(owner) else None

    def begin(self, name: str, owner: Any, steps: Callable[[], int] | None) -> TrainedSet | None:
        """The set of an optimizer that is new; None where there are too many.

        Args:
            name, owner, steps: See :class:`TrainedSet`.
        """
        if len(self._all) >= _MOST_SETS:
            return None
        known = self._by_owner[id(owner)] = TrainedSet(name, owner, steps, self._unclaimed)
        self._all.append(known)
        return known

    def by_hand(self) -> TrainedSet:
        """That of all updates which the script writes itself."""
        if self._by_hand is None:
            self._by_hand = TrainedSet(BY_HAND, None, None, self._unclaimed)
            self._all.append(self._by_hand)
        return self._by_hand

    def record(self, weights: bool, is_last: bool) -> list[dict[str, Any]]:
        """Their entries in the record.

        Args:
            weights: Whether to read the values; takes ``fingerprints.SECONDS`` at most.
            is_last: What was traced by now, and has made no step, never ran.
        """
        for one in self._all:
            _match(one, self._unclaimed.shapes)
        began, entries = time.monotonic(), []
        for one in self._all:
            if one.variables and not (is_last and one.never_ran):
                left = fingerprints.SECONDS - (time.monotonic() - began)
                entries.append(set_records.record(one, weights, left, self.reach))
        return entries


def _match(one: TrainedSet, shapes: dict[tuple[int, ...], list[Any]]) -> None:
    """Gives the set's variables the groups of tensors that have their shapes.

    For exchanges that nobody can follow from a gradient to a variable (clipped, cast or copied on
    the way). They count where they make up half of the set or more, so that a metric of the shape
    of a bias is no exchange of a model. So does a flat buffer that has the size of all of them.
    """
    open_ones = [v for v in one.variables if not v.local and one.is_open(v)]
    fitting = [v for v in open_ones if v.elements > 1 and v.shape in shapes]
    fitted = [v for v in one.variables if one.went(v).hows == {VALUES} and v.shape in shapes]
    everything = sum(v.elements for v in one.variables if not v.local)
    if open_ones and everything >= FEW:
        for group in shapes.get((everything,), ()):
            for variable in open_ones:
                one.may_have_sent(variable, group)
    if not fitting or 2 * sum(v.elements for v in (*fitting, *fitted)) < everything:
        return
    for variable in fitting:
        for group in shapes[variable.shape]:
            one.may_have_sent(variable, group)
