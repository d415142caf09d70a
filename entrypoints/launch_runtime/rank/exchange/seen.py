"""What a process remembers of tensors: whose they are, and which exchanges nobody has claimed."""

from __future__ import annotations

import weakref
from typing import Any, Sequence

from launch_runtime.rank.exchange.structures import dense
from launch_runtime.rank.exchange.variables import MOST, is_group

# Smaller tensors are metrics, counters and flags.
MANY = 64
_MOST_OTHERS = 16


class Marks:
    """What certain tensors are; a tensor that the script drops is forgotten."""

    def __init__(self) -> None:
        self._marks: dict[int, tuple[Any, Any]] = {}  # an object's number -> weak reference, what

    def set(self, tensor: Any, what: Any) -> None:
        """``tensor`` is ``what`` from now on."""
        tensor, marks = dense(tensor), self._marks
        if len(marks) >= MOST:
            for key in [key for key, (ref, _) in marks.items() if ref() is None]:
                del marks[key]
            if len(marks) >= MOST:
                marks.clear()
        try:
            marks[id(tensor)] = (weakref.ref(tensor), what)
        except TypeError:
            return

    def forget(self, tensor: Any) -> None:
        """``tensor`` is nothing from now on."""
        self._marks.pop(id(dense(tensor)), None)

    def of(self, tensor: Any) -> Any:
        """What ``tensor`` is, or None."""
        if tensor is None:
            return None
        tensor = dense(tensor)
        ref, what = self._marks.get(id(tensor), (None, None))
        return what if ref is not None and ref() is tensor else None


class Unclaimed:
    """Exchanges of tensors that belong to no variable.

    Attributes:
        shapes: Shape -> the groups over which tensors of that shape went.
        largest: Group and the most elements of one exchange over it.
        count: How many of them were large; at how many steps, where it is told of these.
        is_uncounted: Whether some of them come as often as nobody counts: no call of Python.
    """

    def __init__(self) -> None:
        self.shapes: dict[tuple[int, ...], list[Any]] = {}
        self.largest: list[list[Any]] = []
        self.count, self.is_uncounted = 0, False
        self._by_steps = self._is_counted = False

    def stepped(self) -> None:
        """An optimizer makes a step; what is seen from here on is of the next one."""
        if not self._by_steps:
            self.count = min(self.count, 1)
        self._by_steps, self._is_counted = True, False

    def counts(self) -> None:
        """One of them was large, or went to a single rank."""
        if not (self._by_steps and self._is_counted):
            self.count += 1
        self._is_counted = True

    def may_be(self, shape: Sequence[int]) -> bool:
        """Whether one of them may have been of a variable of this shape: it had the shape, or was
        large enough to hold several."""
        return bool(self.largest) or tuple(shape) in self.shapes

    def see(
        self,
        shape: Sequence[int | None],
        group: Any,
        is_bytes: bool = False,
        is_uncounted: bool = False,
    ) -> bool:
        """Notes one; whether its group is news.

        Args:
            shape: Its dimensions; an unknown one is None.
            is_bytes: It holds bytes, four of which make an element: a pickled object.
            is_uncounted: It goes as often as nobody counts.
        """
        if is_bytes:
            return self._see_bytes(shape, group, is_uncounted)
        known = tuple(int(dimension) for dimension in shape if dimension is not None)
        elements = 1
        for dimension in known:
            elements *= dimension
        if not is_group(group) or elements < 2:
            return False
        if len(known) == len(shape) and len(self.shapes) < MOST:
            groups = self.shapes.setdefault(known, [])
            if group not in groups:
                groups.append(group)
        return elements >= MANY and self._is_new(group, elements, is_uncounted)

    def see_shape(self, shape: Sequence[int], group: Any) -> None:
        """Notes that a whole tensor of this shape went over ``group``, and was no packed one."""
        groups = self.shapes.setdefault(tuple(shape), [])
        if is_group(group) and group not in groups:
            groups.append(group)

    def _see_bytes(self, shape: Sequence[int | None], group: Any, is_uncounted: bool) -> bool:
        elements = 1
        for dimension in shape:
            elements *= 1 if dimension is None else int(dimension)
        elements //= 4
        if not is_group(group) or elements < MANY:
            return False
        return self._is_new(group, elements, is_uncounted)

    def _is_new(self, group: Any, elements: int, is_uncounted: bool) -> bool:
        self.counts()
        self.is_uncounted |= is_uncounted
        for entry in self.largest:
            if entry[0] == group:
                entry[1] = max(entry[1], elements)
                return False
        if len(self.largest) >= _MOST_OTHERS:
            return False
        self.largest.append([group, elements])
        return True
