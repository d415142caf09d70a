"""How an epoch divides into ranks and steps, checked before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass

from .arguments import Settings
from .data import shards
from .errors import TrainingError


@dataclass(frozen=True)
class Plan:
    """An epoch, the same on every rank.

    Attributes:
        images_per_rank: Training images that a rank reads in an epoch.
        steps: Optimizer steps of an epoch.
        images_per_epoch: Training images that all ranks together read in an epoch.
    """

    images_per_rank: int
    steps: int
    images_per_epoch: int


def plan_epochs(settings: Settings, training_images: int, world_size: int) -> Plan:
    """The plan for so many images and ranks.

    Raises:
        TrainingError: A rank would get fewer images than fill a batch.
    """
    share = shards.samples_per_rank(training_images, world_size)
    if settings.batch_size > share:
        raise TrainingError(
            f"--batch-size {settings.batch_size}: {training_images} training images on "
            f"{world_size} ranks are {share} each; expected a batch of at most that. Use a smaller "
            "--batch-size, fewer ranks or more data."
        )
    steps = shards.steps_per_epoch(
        training_images, world_size, settings.batch_size, settings.max_steps
    )
    read = min(share, steps * settings.batch_size)
    return Plan(images_per_rank=read, steps=steps, images_per_epoch=read * world_size)
