"""Keras layers that compute in 16 bits, and what float16 needs around the optimizer.

Weights, checkpoints and the last layer are float32 in all of them.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Sequence

import tensorflow as tf

from ...errors import TrainingError
from ...precision import BFLOAT16, FLOAT16, FLOAT32, Gpu

POLICIES = {FLOAT32: "float32", BFLOAT16: "mixed_bfloat16", FLOAT16: "mixed_float16"}


def gpus_here() -> list[Gpu]:
    """Those that this process uses."""
    found = []
    for device in tf.config.get_visible_devices("GPU"):
        details = tf.config.experimental.get_device_details(device)
        major, minor = details.get("compute_capability") or (0, 0)
        found.append(Gpu(details.get("device_name", device.name), (int(major), int(minor))))
    return found


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
