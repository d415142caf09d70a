"""What an exchange took or gave, and whether the memory of that tensor is still its own.

A result that nobody holds gives its memory to the next tensor of that size, which may be a gradient
that was never exchanged. So what is remembered by its place knows its storage, too, by the weak
reference with which PyTorch shares storages between processes; the memory itself is not held.

A storage that is gone may have been a second one over memory that is not its own, as that of
``torch.from_numpy(gradient.numpy())``. So a gradient that begins there counts, if it has that
tensor's type and shape, which another tensor that got the memory has but rarely.
"""

from __future__ import annotations

import sys
from typing import Any

# What an exchange gives: one sum in every rank; what each of them has; another part in each; a sum
# to one rank alone.
WHOLE, GATHERED, PART = "whole", "gathered", "part"
TO_ME, TO_ANOTHER = "to me", "to another"


class Carried:
    """A tensor that an exchange took or gave.

    Args:
        tensor: As it is in memory: a rank's own part of a DTensor.
        group: Over which it went.
        place: Where its values begin; 0 where nothing says.
        way: What the exchange gives (``WHOLE``, ``GATHERED`` and so on).
        together: Elements of all tensors of the same call.

    Attributes:
        group, place, way, together: As given.
        shape: Its dimensions.
        moment: When, in steps.
        version: Of the gradient that it was found to be; None before.
        is_claimed: Whether it is known whose it is.
    """

    def __init__(
        self, tensor: Any, group: Any, place: int = 0, way: str = WHOLE, together: int = 0
    ):
        self.group, self.place, self.way, self.together = group, place, way, together
        self.shape = tuple(int(dimension) for dimension in tensor.shape)
        self.moment, self.is_claimed = 0, False
        self.version: int | None = None
        self._storage, self._form = _weak(tensor), _form(tensor)

    @property
    def is_there(self) -> bool:
        """Whether its memory is known to be its own still."""
        return self._storage is not None and not self._storage.expired()

    def is_at(self, gradient: Any) -> bool:
        """Whether a gradient that begins at its place is it, or a part of it; true where nothing
        says."""
        if self._storage is None or not self._storage.expired():
            return True
        return self._form == _form(gradient)


def _form(tensor: Any) -> tuple[Any, tuple[int, ...]]:
    return getattr(tensor, "dtype", None), tuple(tensor.shape)


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
