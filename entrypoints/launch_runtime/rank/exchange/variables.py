"""The variables that a process trains, and what of each went to other ranks."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any, Callable, Collection, Iterable, Sequence

from launch_runtime.evidence.records import ALL
from launch_runtime.rank.exchange import fingerprints

if TYPE_CHECKING:
    from launch_runtime.rank.exchange.trained_set import TrainedSet

# What went to other ranks: a variable's gradient; its own value; something of its shape.
GRADIENTS, WEIGHTS, VALUES = "gradients", "weights", "values"
MOST = 8192  # variables, and marks of tensors
UNKNOWN = -1  # a step that nobody counts

Reader = Callable[[], Any]  # the values as a NumPy array; may raise anything


def best_of(hows: Collection[str]) -> str:
    """The one of them that says most, or ""."""
    return next((how for how in (GRADIENTS, WEIGHTS, VALUES) if how in hows), "")


class Exchanges:
    """What of a variable went to other ranks: in all, or since a further optimizer began.

    Attributes:
        groups: Over which it went.
        hows: As what.
    """

    def __init__(self) -> None:
        self.groups: list[Any] = []
        self.hows: set[str] = set()

    @property
    def how(self) -> str:
        """The best of them, or ""."""
        return best_of(self.hows)

    def went(self, how: str, group: Any, ways: Iterable[str] = ()) -> None:
        """Notes an exchange over ``group``, in ``ways`` where these are kept."""
        if group not in self.groups:
            self.groups.append(group)
        self.hows.add(how)


class Variable(Exchanges):
    """One variable, held so that the script can drop it.

    Its values are read when it is dropped, or at the end. ``read`` must not hold the variable
    itself, only its storage, which is given up in that moment.

    Args:
        variable: The framework's object.
        shape: Its dimensions.
        read: Gives its values.
    """

    def __init__(self, variable: Any, shape: Sequence[int], read: Reader):
        super().__init__()
        self.shape = tuple(shape)
        self.elements = 1
        for dimension in self.shape:
            self.elements *= int(dimension)
        self._read: Reader | None = read
        self._ref = weakref.ref(variable, self._dropped)
        self.ways: set[str] = set()  # of evidence.records.WAYS
        self.is_renewed = False  # the script gave it another value after one of it had gone out
        self.is_blind = False  # the framework lets a script change it unseen
        self.is_whole = True  # every rank has all of it, so that ranks can be compared
        self.is_past = False  # a wrapper was made for its model, called or not
        self.local = False  # registered to be trained by each rank alone
        self.has_gradient = False
        self.is_reduced = False  # what is applied to it is known to come from an exchange
        self.is_raw = False  # its own gradient was applied, as it was computed or sent
        self.is_open = False  # what was put into it may have come from other ranks
        self.given_at: int | None = None  # the steps when the script gave it such a value first
        self.changed_at: int | None = None  # the step at which the script assigned it last
        self.print: bytes | None = None
        self.owner: TrainedSet | None = None
        self.is_trained = False  # an optimizer changed it by a gradient
        self.fresh = Exchanges()  # since its gradient was computed last
        self.later: list[Exchanges] = []  # one for each further optimizer of it

    def is_of(self, variable: Any) -> bool:
        """Whether it stands for that very object; numbers of objects are used again."""
        return self._ref() is variable

    @property
    def found(self) -> Any:
        """The framework's object; None once the script has let it go."""
        return self._ref()

    @property
    def is_dropped(self) -> bool:
        """Whether the script has let it go."""
        return self._ref() is None

    @property
    def is_nobodys(self) -> bool:
        """Whether it is not trained itself, so far."""
        return self.owner is None and not self.has_gradient

    @property
    def is_trained_on(self) -> bool:
        """Whether a further optimizer trained it on in this rank alone."""
        return any(not one.groups for one in self.later)

    @property
    def is_unused(self) -> bool:
        """Whether its value alone went out, and it was never given another one: what came back was
        looked at, and the ranks trained apart."""
        return self.hows == {WEIGHTS} and not self.is_renewed and not self.is_blind

    @property
    def is_wasted(self) -> bool:
        """Whether its gradient went out and was applied all the same: what came back was not."""
        return self.is_raw and not self.is_reduced and self.hows == {GRADIENTS}

    @property
    def is_closed(self) -> bool:
        """Whether its own gradients alone were put into it, and nothing that came."""
        return self.is_raw and not self.is_reduced and not self.is_open

    def went(self, how: str, group: Any, ways: Iterable[str] = ()) -> None:
        """Notes an exchange over ``group``."""
        super().went(how, group)
        self.ways.update(ways)
        # A gradient goes before it is applied; values may go after that, whoever has applied them.
        if how != WEIGHTS:
            self.fresh.went(how, group)
        if how != GRADIENTS:
            for one in self.later:
                one.went(how, group)

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
        may_have_gone = self.is_past or (self.owner is not None and self.owner.may_have_gone(self))
        if self.owner is not None and (self.how or may_have_gone):
            self.owner.settle()
            self.look()
        self._read = None


class Variables:
    """What stands for the variables of a framework, by the numbers of its objects."""

    def __init__(self) -> None:
        self._known: dict[int, Variable] = {}
        self._by_handle: dict[int, Variable] = {}
        self._shapes: set[tuple[int | None, ...]] = set()

    def of(self, found: Any) -> Variable | None:
        """What stands for the framework's object, if it was seen before."""
        known = self._known.get(id(found))
        return known if known is not None and known.is_of(found) else None

    def have(self, shape: Sequence[int | None]) -> bool:
        """Whether one of them has, or had, that shape."""
        return tuple(shape) in self._shapes

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
        self._shapes.add(known.shape)
        if handle is not None:
            self._by_handle[id(handle)] = known
        return known


def is_group(group: Any) -> bool:
    """Whether an exchange over it reaches another rank."""
    return group == ALL or len(group) > 1


def _alive(known: dict[int, Variable]) -> dict[int, Variable]:
    return {number: one for number, one in known.items() if not one.is_dropped}
