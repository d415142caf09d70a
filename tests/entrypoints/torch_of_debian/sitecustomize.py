"""Lets Python 3.11 import all of Debian 12's PyTorch 1.13, as Lightning does.

One of its dataclasses has a default that counts as mutable there; PyTorch 2 gives it another one.
"""

from __future__ import annotations

import dataclasses
from typing import Any

_dataclass: Any = dataclasses.dataclass


def _hashable(cls: Any = None, **how: Any) -> Any:
    if getattr(cls, "__name__", "") == "TensorProperties":
        how["unsafe_hash"] = True
    return _dataclass(cls, **how)


dataclasses.dataclass = _hashable
