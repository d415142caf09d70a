"""The options of the model and its training: epochs, batches, optimizer, rate."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..data.kinds import KINDS
from ..schedules import SCALINGS
from . import models
from .values import above_0, whole

if TYPE_CHECKING:
    from ..arguments import Settings

OPTIMIZERS = ("adam", "sgd")
WARM_UP_EPOCHS = 3
SGD_LEARNING_RATE = 0.05


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds these options."""
    group = parser.add_argument_group("model and training")
    models.add_to(group, _by_data_set("model"))
    group.add_argument("--epochs", type=whole(1), metavar="N", help=_by_data_set("epochs"))
    group.add_argument(
        "--batch-size",
        type=whole(1),
        metavar="N",
        help="images a step on each rank; " + _by_data_set("batch_size"),
    )
    group.add_argument("--max-steps-per-epoch", type=whole(1), metavar="N", help="cut the epochs")
    group.add_argument("--optimizer", choices=OPTIMIZERS, default="adam", help="default adam")
    group.add_argument(
        "--lr",
        type=above_0("0.001"),
        metavar="RATE",
        help="learning rate of one rank; {}, with sgd {:g}".format(
            _by_data_set("learning_rate"), SGD_LEARNING_RATE
        ),
    )
    group.add_argument(
        "--lr-scaling",
        choices=SCALINGS,
        default="none",
        help="multiply the rate by the world size or its square root (default none)",
    )
    group.add_argument(
        "--warmup-epochs",
        type=whole(0),
        metavar="N",
        help=f"epochs in which the rate rises to the scaled one (default {WARM_UP_EPOCHS})",
    )
    group.add_argument(
        "--seed",
        type=whole(0, 2**32 - 1),
        default=1,
        metavar="N",
        help="of first weights and order of images (default 1)",
    )
    group.add_argument(
        "--validate",
        action="store_true",
        help="evaluate on the whole test split after every epoch too",
    )


def problem(given: Any, settings: Settings) -> str | None:
    """What these options have against each other, in a line."""
    if given.warmup_epochs and settings.lr_scaling == "none":
        return (
            f"argument --warmup-epochs: {given.warmup_epochs}, but --lr-scaling is none and there "
            "is nothing to warm up to; add --lr-scaling linear or sqrt"
        )
    if settings.warmup_epochs > settings.epochs:
        return (
            f"argument --warmup-epochs: {settings.warmup_epochs} is more than the "
            f"{settings.epochs} epochs of this run"
        )
    return None


def _by_data_set(name: str) -> str:
    """Its default for each kind; the last names what holds for the most kinds."""
    values = {kind: getattr(about.defaults, name) for kind, about in KINDS.items()}
    of_pictures = values["images"]
    unlike = [f"{value} for {kind}" for kind, value in values.items() if value != of_pictures]
    return "default " + ", ".join(
        [*unlike, f"{of_pictures} for others" if unlike else f"{of_pictures}"]
    )
