"""How far values of two ranks are apart, by the floats that stand for them. Pure."""

from __future__ import annotations

from typing import Sequence, Tuple

Pair = Tuple[Sequence[float], Sequence[float]]  # the floats of one variable in two ranks

# What ranks have averaged differs by rounding alone, some parts in a million. Start weights that
# were drawn apart, and gradients of other samples, differ by about their own size.
FAR_APART = 0.05
# Beyond it weights are not called equal: rounding does not move them so far.
SAME_WEIGHTS = 0.001
# One average is the same bits everywhere: beyond this, ranks have made steps of their own.
OWN_STEPS = 2e-5


def distance(pairs: Sequence[Pair]) -> float:
    """How far variables of two ranks are apart, in parts of their size; an estimate.

    A projection on directions of signs moves by about the norm of the difference.
    """
    moved, size = 0.0, 0.0
    for own, others in pairs:
        steps = [(a - b) ** 2 for a, b in zip(own[1:], others[1:])]
        moved += max(sum(steps) / len(steps), (own[0] - others[0]) ** 2)
        size += max(own[0], others[0]) ** 2
    return float((moved / size) ** 0.5) if size > 1e-12 else 0.0
