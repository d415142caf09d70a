"""The learning rate of a step: scaling by the world size, and the warm-up to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

SCALINGS = ("none", "linear", "sqrt")


def scaled(learning_rate: float, scaling: str, world_size: int) -> float:
    """The rate after warm-up: unchanged, times the world size, or times its square root."""
    factor = {"none": 1.0, "linear": float(world_size), "sqrt": math.sqrt(world_size)}[scaling]
    return learning_rate * factor


@dataclass(frozen=True)
class WarmUp:
    """A rate that rises in a straight line from ``start`` to ``target`` over ``steps`` steps.

    It depends on the step's number alone, so a run that goes on from a checkpoint has the rate
    that an uninterrupted one would have. The gradual form is that of Goyal et al. 2017
    (arXiv:1706.02677, section 2.2).
    """

    start: float
    target: float
    steps: int

    def rate(self, step: int) -> float:
        """The rate of the optimizer's step number ``step`` (the first is 0)."""
        if step >= self.steps:
            return self.target
        return self.start + (self.target - self.start) * step / self.steps
