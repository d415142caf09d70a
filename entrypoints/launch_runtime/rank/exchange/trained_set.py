"""What one optimizer of a process trains, and what of it went to other ranks."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Sequence

from launch_runtime.evidence.records import LIKE
from launch_runtime.rank.exchange import fingerprints
from launch_runtime.rank.exchange.seen import Unclaimed
from launch_runtime.rank.exchange.variables import GRADIENTS, VALUES, Exchanges, Variable

BY_HAND = "a hand-written update"


class TrainedSet:
    """What one optimizer trains.

    Args:
        name: The optimizer's class.
        owner: The optimizer, or None for updates that the script writes itself.
        steps: Gives the number of its steps, where somebody counts them.
        unclaimed: Exchanges that belong to no variable, and may be of this set.

    Attributes:
        variables: Those that it trains.
        since: Of those that another optimizer had trained together, by their ids: what went to
            other ranks since this one began.
        phases: Those of the process in which it was seen.
        ways: Of ``evidence.records.WAYS``.
        compared: The weights as they were read last.
        applied: Gradients of a step, where nobody knows whether they were averaged.
        looks: At how many steps it was looked at.
        is_seldom: At most steps its gradients did not go to other ranks, by what was counted.
    """

    def __init__(
        self, name: str, owner: Any, steps: Callable[[], int] | None, unclaimed: Unclaimed
    ):
        self.name = name
        self._unclaimed = unclaimed
        self._owner = weakref.ref(owner) if owner is not None else None
        self._steps = steps
        self.variables: list[Variable] = []
        self._members: set[int] = set()  # their ids
        self.since: dict[int, Exchanges] = {}
        self.phases: list[str] = []
        self.ways: set[str] = set()
        self.compared: dict[str, Any] | None = None
        self.applied: dict[str, Any] | None = None
        self.looks, self._likes = 0, 0
        self.is_seldom = False
        self._last_steps: int | None = None

    def is_of(self, owner: Any) -> bool:
        """Whether it is that very optimizer's."""
        return self._owner is not None and self._owner() is owner

    def seen_in(self, phase: str) -> None:
        """It trains in that phase of the process."""
        if phase not in self.phases:
            self.phases.append(phase)

    def add(self, variable: Variable, reduces: bool = False) -> None:
        """One more variable that this optimizer trains.

        Args:
            reduces: What it is given need not have gone to other ranks yet.
        """
        if id(variable) in self._members:
            return
        owner = variable.owner
        if owner is not None and owner.name != BY_HAND and variable.groups and not reduces:
            self.since[id(variable)] = since = Exchanges()
            variable.later.append(since)
        if variable.owner is not None and variable.owner.name == BY_HAND:
            variable.owner.remove(variable)
        if variable.owner is None or variable.owner.name == BY_HAND:
            variable.owner = self
        self.variables.append(variable)
        self._members.add(id(variable))

    def took(self, variable: Variable) -> None:
        """It applies the variable's gradient, or what an exchange made of it."""
        since = self.since.get(id(variable))
        if since is not None:
            for group in variable.fresh.groups:
                since.went(variable.fresh.how, group)

    @property
    def is_settled(self) -> bool:
        """Whether the gradients of all its variables are known to go to other ranks."""
        return all(self.went(one).how == GRADIENTS and not one.is_wasted for one in self.variables)

    def went(self, variable: Variable) -> Exchanges:
        """What of the variable went to other ranks, as far as this optimizer is concerned."""
        return self.since.get(id(variable), variable)

    def remove(self, variable: Variable) -> None:
        """That variable is another optimizer's."""
        self.variables.remove(variable)
        self._members.discard(id(variable))

    def steps(self) -> int | None:
        """The number of steps so far, or None where nobody counts."""
        if self._steps is not None:
            try:
                self._last_steps = int(self._steps())
            except Exception:  # the optimizer is gone, or a graph has no value to read
                return self._last_steps
        return self._last_steps

    @property
    def never_ran(self) -> bool:
        """Whether its optimizer counts its steps and has made none: a function that was traced for
        an export, and not called."""
        alive = self._owner is not None and self._owner() is not None
        return alive and self.steps() == 0

    def look_at_applied(
        self,
        step: int,
        group: Any,
        gradients: Sequence[tuple[Any, Variable]],
        read: Callable[[Any], Any],
        what: str = "",
    ) -> None:
        """Keeps the floats of gradients that it is about to apply in this step, and that went over
        ``group``; of the largest.

        Args:
            what: ``OWN`` where they were summed in this rank alone, which may be the only one to
                apply them; ``LIKE`` where all that is known to have gone is like them.
        """
        self._likes += what == LIKE
        chosen = fingerprints.chosen(
            [variable.elements for _, variable in gradients], fingerprints.MOST_APPLIED
        )
        prints: list[bytes | None] = []
        for index in chosen:
            try:
                prints.append(fingerprints.of(read(gradients[index][0])))
            except Exception:  # no real numbers, or none to be had
                prints.append(None)
        kept = self.places([gradients[index][1] for index in chosen])
        told = {"step": step, "group": group, "kept": kept, "what": what}
        self.applied = {**told, "prints": fingerprints.joined(prints)}

    @property
    def is_applied_told(self) -> bool:
        """Whether gradients say something: not where what is like them goes but now and then."""
        if self.applied is None:
            return False
        return self.applied["what"] != LIKE or 2 * self._likes >= self.looks

    def settle(self) -> None:
        """The steps are read while they can be."""
        self.steps()

    def is_open(self, variable: Variable) -> bool:
        """Whether nothing of the variable is known to have come from other ranks."""
        return not self.went(variable).groups or variable.is_unused

    def may_have_sent(self, variable: Variable, group: Any) -> None:
        """Something of the variable's shape, or size, went over ``group``."""
        self.went(variable).went(VALUES, group)

    def may_have_gone(self, variable: Variable) -> bool:
        """Whether something went to other ranks that may have been of this variable."""
        return self._unclaimed.may_be(variable.shape)

    def places(self, variables: Sequence[Variable]) -> list[int]:
        """Their numbers in this set, which are the same on every rank."""
        numbers = {id(variable): number for number, variable in enumerate(self.variables)}
        return [numbers[id(variable)] for variable in variables]
