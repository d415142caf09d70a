"""How random a text is."""

from __future__ import annotations

import math
from collections import Counter


def entropy(value: str) -> float:
    """Shannon entropy of the characters of ``value``, in bits per character; 0.0 when empty."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())
