"""The parameters of PyTorch's optimizers that have made a step, by where their values lie."""

from __future__ import annotations

import weakref
from typing import Any, Callable

from launch_runtime.rank.exchange.torch_tensors import Reader, is_part, own, place_of
from launch_runtime.rank.exchange.variables import MOST, Variable, Variables


class Parameters:
    """Those of one process.

    Args:
        variables: What stands for them.
        met: Called with the place in memory of one that is seen for the first time.
    """

    def __init__(self, variables: Variables, met: Callable[[int], None]):
        self._variables = variables
        self._met = met
        self._places: dict[int, Variable] = {}
        # Held by the variables alone, which give up what they read once it is dropped.
        self._readers: weakref.WeakValueDictionary[Variable, Reader]
        self._readers = weakref.WeakValueDictionary()

    def known(self, parameter: Any) -> Variable | None:
        """What stands for a parameter, if it was seen before."""
        return self._variables.of(parameter)

    def tracked(self, parameter: Any) -> Variable:
        """What stands for a parameter, from its first step on."""
        known = self.known(parameter)
        if known is None:
            reader = Reader(parameter)
            known = self._variables.keep(parameter, own(parameter).shape, reader)
            known.is_blind, known.is_whole = True, not is_part(parameter)
            self._readers[known] = reader
            self._met(place_of(parameter))
        else:
            self._readers[known].hold(parameter)  # it may have been moved
        if len(self._places) < MOST:
            self._places[place_of(parameter)] = known
        return known

    def valued_by(self, tensor: Any) -> Variable | None:
        """The parameter whose values these are; none of one that has moved away from there."""
        place = place_of(tensor)
        value = self._places.get(place)
        reader = self._readers.get(value) if value is not None else None
        if value is None or reader is None or value.shape != tuple(tensor.shape):
            return None
        return value if reader.place == place else None
