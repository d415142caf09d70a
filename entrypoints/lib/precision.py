"""In which precision layers compute: float32, or 16 bits where all ranks' devices are made for it.

The framework's side is ``tensorflow.models.precision`` and ``pytorch.precision``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from .errors import TrainingError

FLOAT32, BFLOAT16, FLOAT16, AUTO = "float32", "bfloat16", "float16", "auto"
# The least compute capability whose tensor cores take the type (NVIDIA, CUDA C++ Programming
# Guide, "Compute Capabilities": float16 from Volta on, bfloat16 from Ampere on).
LEAST_CAPABILITY = {FLOAT16: (7, 0), BFLOAT16: (8, 0)}


@dataclass(frozen=True)
class Gpu:
    """A GPU's name and compute capability; (0, 0) where that is not known."""

    name: str
    capability: tuple[int, int]


def choose(asked: str, of_ranks: Sequence[Sequence[Gpu]]) -> str:
    """The precision of the job, the same on all ranks.

    Args:
        asked: float32, bfloat16, float16, or auto: the best that all ranks' GPUs are made for,
            bfloat16 before float16, and float32 where a rank has no GPU.
        of_ranks: Each rank's GPUs.

    Raises:
        TrainingError: A rank's GPU cannot do it, or there is none. bfloat16 is for CPUs too.
    """
    if asked == FLOAT32:
        return FLOAT32
    weakest = [min((gpu.capability for gpu in gpus), default=(0, 0)) for gpus in of_ranks]
    if asked == AUTO:
        able = (p for p in (BFLOAT16, FLOAT16) if min(weakest) >= LEAST_CAPABILITY[p])
        return next(able, FLOAT32)
    if asked == BFLOAT16 and not any(of_ranks):
        return BFLOAT16
    least = LEAST_CAPABILITY[asked]
    for rank, gpus in enumerate(of_ranks):
        if weakest[rank] < least:
            raise TrainingError(
                f"--precision {asked}: rank {rank} has {_told(gpus)}; expected a GPU of compute "
                f"capability {least[0]}.{least[1]} or more on every rank. Take --precision "
                f"{FLOAT32 if gpus else FLOAT32 + ' or ' + BFLOAT16}, or auto."
            )
    return asked


def line(chosen: str) -> str:
    """What rank 0 says of it."""
    return f"precision: layers compute in {chosen}, weights are float32"


def _told(gpus: Sequence[Gpu]) -> str:
    if not gpus:
        return "no GPU"
    gpu = min(gpus, key=lambda one: one.capability)
    if gpu.capability == (0, 0):
        return f"{gpu.name} of unknown compute capability"
    return f"{gpu.name} of compute capability {gpu.capability[0]}.{gpu.capability[1]}"
