"""How an epoch divides into ranks and steps, checked before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass

from . import sync
from .arguments import Settings
from .data import weights
from .data.division import Division
from .errors import TrainingError


@dataclass(frozen=True)
class Plan:
    """An epoch, the same on every rank.

    Attributes:
        images_per_rank: Training images that a rank reads in an epoch; with ``--remainder uneven``
            or ``pad`` some ranks have one less.
        steps: Batches of an epoch: optimizer steps, but for ``--backward-passes``.
        images_per_epoch: Training images that all ranks together read in an epoch.
    """

    images_per_rank: int
    steps: int
    images_per_epoch: int


def plan_epochs(settings: Settings, training_images: int, world_size: int) -> Plan:
    """The plan for so many images and ranks.

    Raises:
        TrainingError: A rank would get fewer images than fill a batch, or fewer batches than
            ``--backward-passes`` takes for a step.
    """
    if training_images < world_size:
        raise TrainingError(
            f"{training_images} training images for {world_size} ranks: expected at least one "
            "each. Use fewer ranks or more data."
        )
    readers = sync.readers(settings, world_size)
    division = Division(readers, 1, settings.batch_size, settings.remainder)
    share, _ = division.share_rows(training_images, 0)
    if settings.batch_size > share:
        raise TrainingError(
            f"--batch-size {settings.batch_size}: {training_images} training images on "
            f"{world_size} ranks are {share} each; expected a batch of at most that. Use a smaller "
            "--batch-size, fewer ranks or more data."
        )
    steps = weights.steps_of_all(division, training_images)
    if settings.max_steps is not None:
        steps = min(steps, settings.max_steps)
    if steps < settings.backward_passes:
        raise TrainingError(
            f"--backward-passes {settings.backward_passes}: an epoch has {steps} batches on each "
            "rank; expected at least as many. Use fewer passes, or a smaller --batch-size."
        )
    steps = sync.whole_steps(settings, steps)
    most = steps * settings.batch_size
    read = [min(division.share_rows(training_images, rank)[0], most) for rank in range(readers)]
    images = sum(read) * (world_size // readers)
    return Plan(images_per_rank=read[0], steps=steps, images_per_epoch=images)
