"""Whether the memory of a tensor of PyTorch is still its own.

A result that nobody holds gives its memory to the next tensor of that size, which may be a gradient
that was never exchanged. So what is remembered by its place knows its storage, too, by the weak
reference with which PyTorch shares storages between processes; the memory itself is not held.

A storage that is gone may have been a second one over memory that is not its own, as that of
``torch.from_numpy(gradient.numpy())``. So a gradient that begins there counts, if it has that
tensor's type and size, which another tensor that got the memory has but rarely.
"""

from __future__ import annotations

import math
import sys
from typing import Any


class Carried:
    """A tensor that an exchange took or gave.

    Attributes:
        group: Over which it went.
    """

    def __init__(self, tensor: Any, group: Any):
        self.group = group
        self._storage, self._form = _weak(tensor), _form(tensor)

    def is_at(self, gradient: Any) -> bool:
        """Whether a gradient that begins at its place is it, or a part of it; true where nothing
        says."""
        if self._storage is None or not self._storage.expired():
            return True
        return self._form == _form(gradient)


def _form(tensor: Any) -> tuple[Any, int]:
    return getattr(tensor, "dtype", None), math.prod(tensor.shape)


def _weak(tensor: Any) -> Any:
    """A weak reference to the storage that holds the values; None where there is none."""
    reductions = sys.modules.get("torch.multiprocessing.reductions")
    weak = getattr(reductions, "StorageWeakRef", None)
    if weak is None:
        return None
    try:
        # Before PyTorch 2 there is the other one alone, which warns from then on.
        storage = getattr(tensor, "untyped_storage", None) or tensor.storage
        found = storage()
        begin = int(found.data_ptr())
        # One that wraps another tensor has a storage that is not where its values are.
        return weak(found) if begin and begin <= int(tensor.data_ptr()) else None
    except Exception:  # of a kind of tensor that has none
        return None
