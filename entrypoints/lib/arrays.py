"""The type of NumPy's arrays, for annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]
else:  # NumPy before 1.22 cannot be subscripted when it runs
    Array = np.ndarray
