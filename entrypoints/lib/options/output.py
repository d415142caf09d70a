"""The options of what a run writes: checkpoints, when and how many, and the model."""

from __future__ import annotations

import argparse

from .values import above_0, whole


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds these options."""
    group = parser.add_argument_group("output")
    group.add_argument("--checkpoint-dir", metavar="DIR", help="folder or gs:// address")
    group.add_argument(
        "--checkpoint-steps",
        type=whole(1),
        metavar="N",
        help="a checkpoint after every N steps of an epoch too (default: after each epoch)",
    )
    group.add_argument(
        "--checkpoint-minutes",
        type=above_0("10 or 0.5"),
        metavar="M",
        help="also write a checkpoint when the last one is M minutes old, such as 10 or 0.5",
    )
    group.add_argument(
        "--keep-checkpoints",
        type=whole(1),
        default=2,
        metavar="N",
        help="how many of the newest checkpoints stay (default 2)",
    )
    group.add_argument("--model-dir", metavar="DIR", help="folder or gs:// address")
