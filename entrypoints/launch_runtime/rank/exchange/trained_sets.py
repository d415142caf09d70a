"""The sets in which the optimizers of a process train its variables."""

from __future__ import annotations

import time
import weakref
import zlib
from typing import Any, Callable, Iterator, Sequence

from launch_runtime.rank.exchange import fingerprints
from launch_runtime.rank.exchange.seen import Unclaimed
from launch_runtime.rank.exchange.variables import (
    GRADIENTS,
    UNKNOWN,
    VALUES,
    WEIGHTS,
    Exchanges,
    Variable,
)

BY_HAND = "a hand-written update"
SMALLEST_BUFFER = 8  # elements of a whole model in one buffer, which is no metric
_MOST_SETS = 64


class TrainedSet:
    """What one optimizer trains.

    Args:
        name: The optimizer's class.
        owner: The optimizer, or None for updates that the script writes itself.
        steps: Gives the number of its steps, where somebody counts them.
        unclaimed: Exchanges that belong to no variable, and may be of this set.
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
        # Of those that another optimizer had trained together: what went since this one began.
        self._since: dict[int, Exchanges] = {}
        self.phases: list[str] = []
        self.ways: set[str] = set()  # of evidence.records.WAYS
        self._compared: dict[str, Any] | None = None  # the weights as they were read last
        self._applied: dict[str, Any] | None = None  # gradients of a step, of which nobody knows
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
            self._since[id(variable)] = since = Exchanges()
            variable.later.append(since)
        if variable.owner is not None and variable.owner.name == BY_HAND:
            variable.owner._remove(variable)
        if variable.owner is None or variable.owner.name == BY_HAND:
            variable.owner = self
        self.variables.append(variable)
        self._members.add(id(variable))

    def took(self, variable: Variable) -> None:
        """It applies the variable's gradient, or what an exchange made of it."""
        since = self._since.get(id(variable))
        if since is not None:
            for group in variable.fresh.groups:
                since.went(variable.fresh.how, group)

    @property
    def is_settled(self) -> bool:
        """Whether the gradients of all its variables are known to go to other ranks."""
        return all(self._went(one).how == GRADIENTS and not one.is_wasted for one in self.variables)

    def _went(self, variable: Variable) -> Exchanges:
        """What of the variable went to other ranks, as far as this optimizer is concerned."""
        return self._since.get(id(variable), variable)

    def _remove(self, variable: Variable) -> None:
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
    ) -> None:
        """Keeps the floats of gradients that it is about to apply in this step, and that went over
        ``group``; of the largest."""
        chosen = fingerprints.chosen(
            [variable.elements for _, variable in gradients], fingerprints.MOST_APPLIED
        )
        prints: list[bytes | None] = []
        for index in chosen:
            try:
                prints.append(fingerprints.of(read(gradients[index][0])))
            except Exception:  # no real numbers, or none to be had
                prints.append(None)
        kept = self._places([gradients[index][1] for index in chosen])
        told = {"step": step, "group": group, "kept": kept}
        self._applied = {**told, "prints": fingerprints.joined(prints)}

    def settle(self) -> None:
        """The steps are read while they can be."""
        self.steps()

    def is_open(self, variable: Variable) -> bool:
        """Whether nothing of the variable is known to have come from other ranks."""
        return not self._went(variable).groups or variable.is_unused

    def may_have_sent(self, variable: Variable, group: Any) -> None:
        """Something of the variable's shape, or size, went over ``group``."""
        self._went(variable).went(VALUES, group)

    def may_have_gone(self, variable: Variable) -> bool:
        """Whether something went to other ranks that may have been of this variable."""
        return self._unclaimed.may_be(variable.shape)

    def record(self, weights: bool, seconds: float) -> dict[str, Any]:
        """This set's entry in the record.

        Args:
            weights: Whether to read the values.
            seconds: What is left for that.
        """
        own = [variable for variable in self.variables if not variable.local]
        went = {id(variable): self._went(variable) for variable in own}
        exchanged = [one for one in own if went[id(one)].groups and not one.is_unused]
        groups: list[Any] = []
        for variable in exchanged:
            groups += [group for group in went[id(variable)].groups if group not in groups]
        found = {went[id(variable)].how for variable in exchanged}
        hows = [how for how in (GRADIENTS, WEIGHTS, VALUES) if how in found]
        ways = self.ways.union(*(variable.ways for variable in exchanged)) if exchanged else ()
        entry: dict[str, Any] = {
            "name": self.name,
            "form": _form(self.variables),
            "variables": len(self.variables),
            "elements": sum(variable.elements for variable in own),
            "local": len(self.variables) - len(own),
            "exchanged": len(exchanged),
            "how": hows[0] if hows else "",
            "ways": sorted(ways),
            "groups": groups,
            "phases": list(self.phases),
            "past": any(variable.is_past and not variable.groups for variable in own),
            "unused": any(variable.is_unused for variable in own),
        }
        wasted = sum(variable.elements for variable in own if variable.is_wasted)
        entry["wasted"] = wasted > 0 and 2 * wasted >= entry["elements"]
        # What only some ranks have whole says little of the rest.
        is_whole = all(variable.is_whole for variable in own)
        entry["parts"] = not is_whole
        known = [one for one in exchanged if went[id(one)].how == hows[0]] if hows else []
        entry["common"] = [
            group for group in groups if all(group in went[id(one)].groups for one in known)
        ]
        lone = [one for one in own if one.is_trained and not went[id(one)].groups]
        entry["lone"] = [len(lone), sum(variable.elements for variable in lone)]
        entry["later"] = bool(self._since)
        may_have = self._since or any(self.may_have_gone(variable) for variable in own)
        if weights and (hows or may_have):
            # Of what cannot be followed, or may change unseen, the exchanged ones are a guess.
            is_certain = hows[:1] == [GRADIENTS] or (
                hows[:1] == [WEIGHTS] and not any(one.is_blind for one in own)
            )
            parts = (known, lone) if is_certain else (own,)
            read = self._weights(parts if is_whole else ([],), seconds)
            self._compared = {**read, "sure": self._places(known), "lone": self._places(lone)}
            self._compared["on"] = self._places(
                [one for one in own if one.is_trained_on and id(one) not in self._since]
            )
        entry["weights"] = self._compared
        if self._applied:
            entry["applied"] = self._applied
        return entry

    def _weights(self, parts: Sequence[Sequence[Variable]], seconds: float) -> dict[str, Any]:
        """What is read of variables, the largest of each part of them."""
        variables, looked_at = [one for part in parts for one in part], []
        for part in parts:
            chosen = fingerprints.chosen([variable.elements for variable in part])
            looked_at += [part[index] for index in chosen]
        deadline = time.monotonic() + seconds
        for variable in looked_at:
            if time.monotonic() < deadline:
                variable.look()
        prints = [variable.print for variable in looked_at]
        steps = self.steps()
        changed = [
            variable
            for variable in looked_at
            if variable.changed_at is not None and variable.changed_at in (steps, UNKNOWN)
        ]
        return {
            "shapes": ["x".join(map(str, variable.shape)) for variable in self.variables],
            "prints": fingerprints.joined(prints),
            "of": len(variables),
            "kept": self._places(looked_at),
            "changed": self._places(changed),
            "blind": any(variable.is_blind for variable in variables),
            "why": "" if any(prints) else _why(variables),
        }

    def _places(self, variables: Sequence[Variable]) -> list[int]:
        """Their numbers in this set, which are the same on every rank."""
        numbers = {id(variable): number for number, variable in enumerate(self.variables)}
        return [numbers[id(variable)] for variable in variables]


class TrainedSets:
    """Those of one process, in the order in which they were seen.

    Args:
        unclaimed: See :class:`TrainedSet`.
    """

    def __init__(self, unclaimed: Unclaimed) -> None:
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
                entries.append(one.record(weights, left))
        return entries


def _why(variables: Sequence[Variable]) -> str:
    """Why there are no weights to compare; ``variables`` are those that could be."""
    return "the weights could not be read" if variables else "each rank has a part of them"


def _form(variables: Sequence[Variable]) -> str:
    """The same text on every rank that trains a model of the same shape."""
    shapes = ";".join("x".join(map(str, variable.shape)) for variable in variables)
    return f"{zlib.crc32(shapes.encode()):08x}"


def _match(one: TrainedSet, shapes: dict[tuple[int, ...], list[Any]]) -> None:
    """Gives the set's variables the groups of tensors that have their shapes.

    For exchanges that nobody can follow from a gradient to a variable (clipped, cast or copied on
    the way). They count where they make up half of the set or more, so that a metric of the shape
    of a bias is no exchange of a model. So does a flat buffer that has the size of all of them.
    """
    open_ones = [v for v in one.variables if not v.local and one.is_open(v)]
    fitting = [v for v in open_ones if v.elements > 1 and v.shape in shapes]
    everything = sum(v.elements for v in one.variables if not v.local)
    if open_ones and everything >= SMALLEST_BUFFER:
        for group in shapes.get((everything,), ()):
            for variable in open_ones:
                one.may_have_sent(variable, group)
    if not fitting or 2 * sum(v.elements for v in fitting) < everything:
        return
    for variable in fitting:
        for group in shapes[variable.shape]:
            one.may_have_sent(variable, group)
