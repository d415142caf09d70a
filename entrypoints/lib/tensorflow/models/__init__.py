"""Keras models: architectures, first weights, what is frozen, augmentation, precision, optimizers.

model = models.build_for(settings, data, ranks)
optimizer = models.optimizer(settings.optimizer, settings.learning_rate)
optimizer = models.with_loss_scale(hvd.DistributedOptimizer(optimizer), model)
models.create_optimizer_state(optimizer, model.trainable_variables)
...
models.portable(model, settings)
"""

from __future__ import annotations

from .architectures import build
from .freezing import moving
from .optimizer import create_optimizer_state, optimizer, optimizer_variables
from .precision import scaled_loss, unscaled, with_loss_scale
from .start import Blueprint, build_for, draw_apart, draw_on, portable

__all__ = [
    "Blueprint",
    "build",
    "build_for",
    "create_optimizer_state",
    "draw_apart",
    "draw_on",
    "moving",
    "optimizer",
    "optimizer_variables",
    "portable",
    "scaled_loss",
    "unscaled",
    "with_loss_scale",
]
