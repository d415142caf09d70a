"""The variables that a process trains, and the sets in which its optimizers train them."""

from __future__ import annotations

import sys
import time
import weakref
import zlib
from typing import Any, Callable, Iterable, Sequence

from launch_runtime.evidence.records import ALL
from launch_runtime.rank.exchange import fingerprints

# What went to other ranks: a variable's gradient; its own value; something of its shape.
GRADIENTS, WEIGHTS, VALUES = "gradients", "weights", "values"
BY_HAND = "a hand-written update"
MOST = 8192  # variables, and marks of tensors
SMALLEST_BUFFER = 8  # elements of a whole model in one buffer, which is no metric
UNKNOWN = -1  # a step that nobody counts

Reader = Callable[[], Any]  # the values as a NumPy array; may raise anything


class Variable:
    """One variable, held so that the script can drop it.

    Its values are read when it is dropped, or at the end. ``read`` must not hold the variable
    itself, only its storage, which is given up in that moment.

    Args:
        variable: The framework's object.
        shape: Its dimensions.
        read: Gives its values.
    """

    def __init__(self, variable: Any, shape: Sequence[int], read: Reader):
        self.shape = tuple(shape)
        self.elements = 1
        for dimension in self.shape:
            self.elements *= int(dimension)
        self._read: Reader | None = read
        self._ref = weakref.ref(variable, self._dropped)
        self.groups: list[Any] = []  # over which its gradient or its value went
        self.hows: set[str] = set()
        self.ways: set[str] = set()  # of evidence.records.WAYS
        self.is_renewed = False  # the script gave it another value after one of it had gone out
        self.is_blind = False  # the framework lets a script change it unseen
        self.is_whole = True  # every rank has all of it, so that ranks can be compared
        self.is_past = False  # a wrapper was made for its model, called or not
        self.local = False  # registered to be trained by each rank alone
        self.has_gradient = False
        self.is_reduced = False  # what is applied to it is known to come from an exchange
        self.is_raw = False  # its own gradient was applied, as it was computed
        self.changed_at: int | None = None  # the step at which the script assigned it last
        self.print: bytes | None = None
        self.owner: TrainedSet | None = None

    def is_of(self, variable: Any) -> bool:
        """Whether it stands for that very object; numbers of objects are used again."""
        return self._ref() is variable

    @property
    def is_dropped(self) -> bool:
        """Whether the script has let it go."""
        return self._ref() is None

    @property
    def how(self) -> str:
        """The best of what went to other ranks, or ""."""
        return next((how for how in (GRADIENTS, WEIGHTS, VALUES) if how in self.hows), "")

    @property
    def is_unused(self) -> bool:
        """Whether its value alone went out, and it was never given another one: what came back was
        looked at, and the ranks trained apart."""
        return self.hows == {WEIGHTS} and not self.is_renewed and not self.is_blind

    @property
    def is_wasted(self) -> bool:
        """Whether its gradient went out and was applied all the same: what came back was not."""
        return self.is_raw and not self.is_reduced and self.hows == {GRADIENTS}

    def went(self, how: str, group: Any, ways: Iterable[str] = ()) -> None:
        """Notes an exchange over ``group``."""
        if group not in self.groups:
            self.groups.append(group)
        self.hows.add(how)
        self.ways.update(ways)

    def look(self) -> None:
        """Reads the values and keeps their floats; a variable that was dropped keeps its own."""
        if self._read is None:
            return
        try:
            self.print = fingerprints.of(self._read())
        except Exception:  # no value to be had: a graph without a session, a lost device
            self.print = None

    def _dropped(self, _: Any, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        # All is told by then, and PyTorch 2.11 aborts where a view is let go at that time.
        if ends():
            return
        if self.how and self.owner is not None:
            self.owner.settle()
            self.look()
        self._read = None


class Variables:
    """What stands for the variables of a framework, by the numbers of its objects."""

    def __init__(self) -> None:
        self._known: dict[int, Variable] = {}
        self._by_handle: dict[int, Variable] = {}

    def of(self, found: Any) -> Variable | None:
        """What stands for the framework's object, if it was seen before."""
        known = self._known.get(id(found))
        return known if known is not None and known.is_of(found) else None

    def by_handle(self, handle: Any) -> Variable | None:
        """The same by the object of its storage."""
        known = self._by_handle.get(id(handle))
        return known if known is not None and not known.is_dropped else None

    def keep(self, found: Any, shape: Sequence[int], read: Reader, handle: Any = None) -> Variable:
        """What stands for the framework's object from now on."""
        if len(self._known) >= MOST:
            self._known = _alive(self._known)
            self._by_handle = _alive(self._by_handle)
        known = self._known[id(found)] = Variable(found, shape, read)
        if handle is not None:
            self._by_handle[id(handle)] = known
        return known


class TrainedSet:
    """What one optimizer trains.

    Args:
        name: The optimizer's class.
        owner: The optimizer, or None for updates that the script writes itself.
        steps: Gives the number of its steps, where somebody counts them.
    """

    def __init__(self, name: str, owner: Any, steps: Callable[[], int] | None):
        self.name = name
        self._owner = weakref.ref(owner) if owner is not None else None
        self._steps = steps
        self.variables: list[Variable] = []
        self.phases: list[str] = []
        self.ways: set[str] = set()  # of evidence.records.WAYS
        self._compared: dict[str, Any] | None = None  # the weights as they were read last
        self._applied: dict[str, Any] | None = None  # gradients of a step, of which nobody knows
        self._last_steps: int | None = None

    def is_of(self, owner: Any) -> bool:
        """Whether it is that very optimizer's."""
        return self._owner is not None and self._owner() is owner

    def add(self, variable: Variable) -> None:
        """One more variable that this optimizer trains."""
        if variable.owner is self:
            return
        if variable.owner is not None and variable.owner.name == BY_HAND:
            variable.owner.variables.remove(variable)
        if variable.owner is None or variable.owner.name == BY_HAND:
            variable.owner = self
        self.variables.append(variable)

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
        kept = fingerprints.chosen(
            [variable.elements for _, variable in gradients], fingerprints.MOST_APPLIED
        )
        prints: list[bytes | None] = []
        for index in kept:
            try:
                prints.append(fingerprints.of(read(gradients[index][0])))
            except Exception:  # no real numbers, or none to be had
                prints.append(None)
        told = {"step": step, "group": group, "kept": kept}
        self._applied = {**told, "prints": fingerprints.joined(prints)}

    def settle(self) -> None:
        """A variable goes: the steps are read while they can be."""
        self.steps()

    def record(self, weights: bool, seconds: float) -> dict[str, Any]:
        """This set's entry in the record.

        Args:
            weights: Whether to read the values.
            seconds: What is left for that.
        """
        own = [variable for variable in self.variables if not variable.local]
        exchanged = [variable for variable in own if variable.groups and not variable.is_unused]
        groups: list[Any] = []
        for variable in exchanged:
            groups += [group for group in variable.groups if group not in groups]
        hows = [how for how in (GRADIENTS, WEIGHTS, VALUES) if any(v.how == how for v in exchanged)]
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
        if weights and hows and (hows[0] != VALUES or self._applied):
            # What only some ranks have whole says little of the rest.
            is_whole = all(variable.is_whole for variable in own)
            comparable = [one for one in exchanged if one.how == hows[0]] if is_whole else []
            self._compared = self._weights(comparable, seconds)
        entry["weights"] = self._compared
        if self._applied:
            entry["applied"] = self._applied
        return entry

    def _weights(self, variables: Sequence[Variable], seconds: float) -> dict[str, Any]:
        kept = fingerprints.chosen([variable.elements for variable in variables])
        deadline = time.monotonic() + seconds
        prints = []
        for index in kept:
            if time.monotonic() < deadline:
                variables[index].look()
            prints.append(variables[index].print)
        steps = self.steps()
        changed = [
            index
            for index in kept
            if variables[index].changed_at is not None
            and (steps is None or variables[index].changed_at in (steps, UNKNOWN))
        ]
        return {
            "shapes": ["x".join(map(str, variable.shape)) for variable in variables],
            "prints": fingerprints.joined(prints),
            "kept": kept,
            "changed": changed,
            "blind": any(variable.is_blind for variable in variables),
            "why": "" if any(prints) else _why(variables),
        }


def _why(variables: Sequence[Variable]) -> str:
    """Why there are no weights to compare; ``variables`` are those that could be."""
    return "the weights could not be read" if variables else "each rank has a part of them"


def _form(variables: Sequence[Variable]) -> str:
    """The same text on every rank that trains a model of the same shape."""
    shapes = ";".join("x".join(map(str, variable.shape)) for variable in variables)
    return f"{zlib.crc32(shapes.encode()):08x}"


def matched(one: TrainedSet, shapes: dict[tuple[int, ...], list[Any]]) -> None:
    """Gives the set's variables the groups of tensors that have their shapes.

    For exchanges that nobody can follow from a gradient to a variable (clipped, cast or copied on
    the way). They count where they make up half of the set or more, so that a metric of the shape
    of a bias is no exchange of a model. So does a flat buffer that has the size of all of them.
    """
    open_ones = [v for v in one.variables if not v.local and (not v.groups or v.is_unused)]
    fitting = [v for v in open_ones if v.elements > 1 and v.shape in shapes]
    everything = sum(v.elements for v in one.variables if not v.local)
    if open_ones and everything >= SMALLEST_BUFFER:
        for group in shapes.get((everything,), ()):
            for variable in open_ones:
                variable.went(VALUES, group)
    if not fitting or 2 * sum(v.elements for v in fitting) < everything:
        return
    for variable in fitting:
        for group in shapes[variable.shape]:
            variable.went(VALUES, group)


def is_group(group: Any) -> bool:
    """Whether an exchange over it reaches another rank."""
    return group == ALL or len(group) > 1


def _alive(known: dict[int, Variable]) -> dict[int, Variable]:
    return {number: one for number, one in known.items() if not one.is_dropped}
