"""In which precision layers compute: float32, or 16 bits where the machine is made for it.

Weights, checkpoints and the last layer are float32 in all of them.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, Iterator, Sequence

import tensorflow as tf

from ...errors import TrainingError

FLOAT32, BFLOAT16, FLOAT16, AUTO = "float32", "bfloat16", "float16", "auto"
POLICIES = {FLOAT32: "float32", BFLOAT16: "mixed_bfloat16", FLOAT16: "mixed_float16"}
# The least compute capability whose tensor cores take the type (NVIDIA, CUDA C++ Programming
# Guide, "Compute Capabilities": float16 from Volta on, bfloat16 from Ampere on).
LEAST_CAPABILITY = {FLOAT16: (7, 0), BFLOAT16: (8, 0)}


@dataclass(frozen=True)
class Gpu:
    """A GPU's name and compute capability; (0, 0) where that is not known."""

    name: str
    capability: tuple[int, int]


def gpus_here() -> list[Gpu]:
    """Those that this process uses."""
    found = []
    for device in tf.config.get_visible_devices("GPU"):
        details = tf.config.experimental.get_device_details(device)
        major, minor = details.get("compute_capability") or (0, 0)
        found.append(Gpu(details.get("device_name", device.name), (int(major), int(minor))))
    return found


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


def _told(gpus: Sequence[Gpu]) -> str:
    if not gpus:
        return "no GPU"
    gpu = min(gpus, key=lambda one: one.capability)
    if gpu.capability == (0, 0):
        return f"{gpu.name} of unknown compute capability"
    return f"{gpu.name} of compute capability {gpu.capability[0]}.{gpu.capability[1]}"


@contextlib.contextmanager
def computing_in(precision: str) -> Iterator[None]:
    """Layers that are made within compute so; what was set before is set again."""
    policies = tf.keras.mixed_precision
    before = policies.global_policy()
    policies.set_global_policy(POLICIES[precision])
    try:
        yield
    finally:
        policies.set_global_policy(before)


def with_loss_scale(optimizer: Any, model: Any, passes: int = 1) -> Any:
    """``optimizer``, with a dynamic loss scale round it where the model's gradients are float16.

    Horovod's optimizer belongs inside: gradients are then averaged while they are scaled, so an
    overflow on one rank is one on all, and all ranks leave the step out and halve the scale.

    Args:
        passes: Over so many of which that optimizer adds up a rank's own gradients.

    Raises:
        TrainingError: They are several: an overflow in one that is not exchanged would halve one
            rank's scale alone.
    """
    if model.blueprint.precision != FLOAT16:
        return optimizer
    if passes > 1:
        raise TrainingError(
            f"--precision float16 with --backward-passes {passes}: here an overflow on one rank "
            "would not be left out on the others. Take train_custom_loop.py, --precision bfloat16, "
            "or a larger --batch-size."
        )
    return tf.keras.mixed_precision.LossScaleOptimizer(optimizer)


def scaled_loss(optimizer: Any, loss: Any) -> Any:
    """``loss`` times the optimizer's loss scale, if it has one; for training by hand."""
    return optimizer.get_scaled_loss(loss) if hasattr(optimizer, "get_scaled_loss") else loss


def unscaled(optimizer: Any, gradients: Sequence[Any]) -> Sequence[Any]:
    """``gradients`` of such a loss as they are without the scale."""
    if not hasattr(optimizer, "get_unscaled_gradients"):
        return gradients
    unscaled: Sequence[Any] = optimizer.get_unscaled_gradients(gradients)
    return unscaled
