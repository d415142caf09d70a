"""What is told of an optimizer's set: what of it went to other ranks, and the weights."""

from __future__ import annotations

import time
import zlib
from typing import Any, Sequence

from launch_runtime.evidence.records import FEW, PARTS
from launch_runtime.rank.exchange import fingerprints
from launch_runtime.rank.exchange.reach import Reach
from launch_runtime.rank.exchange.trained_set import TrainedSet
from launch_runtime.rank.exchange.variables import GRADIENTS, UNKNOWN, WEIGHTS, Variable, best_of


def record(
    one: TrainedSet, weights: bool, seconds: float, reach: Reach | None = None
) -> dict[str, Any]:
    """The set's entry in the record of its process (see ``launch_runtime/evidence/records.py``).

    Args:
        weights: Whether to read the values.
        seconds: What is left for that.
        reach: Tells what may have come into its variables.
    """
    own = [variable for variable in one.variables if not variable.local]
    parts = _Parts(one, own)
    entry: dict[str, Any] = {
        "name": one.name,
        "form": _form(one.variables),
        "variables": len(one.variables),
        "elements": _elements(own),
        "local": len(one.variables) - len(own),
        "exchanged": len(parts.exchanged),
        "how": parts.how,
        "ways": sorted(parts.ways),
        "groups": parts.groups,
        "common": parts.common,
        "lone": [len(parts.lone), _elements(parts.lone)],
        "later": bool(one.since),
        "phases": list(one.phases),
        "past": any(variable.is_past and not variable.groups for variable in own),
        "unused": any(variable.is_unused for variable in own),
        "wasted": _is_half([v for v in own if v.is_wasted], own),
        "parts": not parts.is_whole,
        "shut": reach is not None and reach.is_shut(own),
        "given": reach is not None and reach.is_given(own),
        "seldom": one.is_seldom and all(went.hows <= {GRADIENTS} for went in map(one.went, own)),
    }
    is_small = entry["elements"] < FEW
    may_have = (
        one.since
        or is_small
        or entry["shut"]
        or any(one.may_have_gone(variable) for variable in own)
    )
    if weights and (parts.how or may_have):
        one.compared = parts.weights(seconds)
    entry["weights"] = one.compared
    if one.is_applied_told:
        entry["applied"] = one.applied
    return entry


class _Parts:
    """A set's variables by what went to other ranks of them.

    Args:
        one: The set.
        own: Those of its variables that are not registered to be trained by each rank alone.

    Attributes:
        exchanged: Of which anything went.
        groups: Over which it did.
        how: As what, the best of all; "" where nothing went.
        ways: Of ``evidence.records.WAYS``.
        known: Which went as that.
        common: The groups over which all of these went.
        lone: Which an optimizer changed, and of which nothing went.
        is_whole: Every rank has all of them: what only some ranks have whole says little of the
            rest.
    """

    def __init__(self, one: TrainedSet, own: Sequence[Variable]):
        self._set, self._own = one, own
        went = {id(variable): one.went(variable) for variable in own}
        self.exchanged = [v for v in own if went[id(v)].groups and not v.is_unused]
        self.groups: list[Any] = []
        for variable in self.exchanged:
            self.groups += [one for one in went[id(variable)].groups if one not in self.groups]
        self.how = best_of([went[id(variable)].how for variable in self.exchanged])
        self.ways: set[str] = set(one.ways) if self.exchanged else set()
        self.ways.update(*(variable.ways for variable in self.exchanged))
        self.known = [v for v in self.exchanged if went[id(v)].how == self.how]
        self.common = [
            group for group in self.groups if all(group in went[id(v)].groups for v in self.known)
        ]
        self.lone = [v for v in own if v.is_trained and not went[id(v)].groups]
        self.is_whole = all(variable.is_whole for variable in own)

    def weights(self, seconds: float) -> dict[str, Any]:
        """The values that are to be equal on all ranks, and what is known of their variables."""
        own, places = self._own, self._set.places
        # Of what cannot be followed, or may change unseen, the exchanged ones are a guess.
        is_certain = self.how == GRADIENTS or (
            self.how == WEIGHTS and not any(variable.is_blind for variable in own)
        )
        compared = (self.known, self.lone) if is_certain else (own,)
        on = [v for v in own if v.is_trained_on and id(v) not in self._set.since]
        return {
            **_read(self._set, compared if self.is_whole else ([],), seconds),
            "sure": places(self.known),
            "lone": places(self.lone),
            "on": places(on),
        }


def _read(one: TrainedSet, parts: Sequence[Sequence[Variable]], seconds: float) -> dict[str, Any]:
    """What is read of variables, the largest of each part of them."""
    variables = [variable for part in parts for variable in part]
    looked_at: list[Variable] = []
    for part in parts:
        chosen = fingerprints.chosen([variable.elements for variable in part])
        looked_at += [part[index] for index in chosen]
    deadline = time.monotonic() + seconds
    for variable in looked_at:
        if time.monotonic() < deadline:
            variable.look()
    prints = [variable.print for variable in looked_at]
    steps = one.steps()
    changed = [
        variable
        for variable in looked_at
        if variable.changed_at is not None and variable.changed_at in (steps, UNKNOWN)
    ]
    return {
        "shapes": ["x".join(map(str, variable.shape)) for variable in one.variables],
        "prints": fingerprints.joined(prints),
        "of": len(variables),
        "kept": one.places(looked_at),
        "changed": one.places(changed),
        "blind": any(variable.is_blind for variable in variables),
        "why": "" if any(prints) else _why(variables),
    }


def _elements(variables: Sequence[Variable]) -> int:
    return sum(variable.elements for variable in variables)


def _is_half(some: Sequence[Variable], of: Sequence[Variable]) -> bool:
    return _elements(some) > 0 and 2 * _elements(some) >= _elements(of)


def _why(variables: Sequence[Variable]) -> str:
    """Why there are no weights to compare; ``variables`` are those that could be."""
    return "the weights could not be read" if variables else PARTS


def _form(variables: Sequence[Variable]) -> str:
    """The same text on every rank that trains a model of the same shape."""
    shapes = ";".join("x".join(map(str, variable.shape)) for variable in variables)
    return f"{zlib.crc32(shapes.encode()):08x}"
