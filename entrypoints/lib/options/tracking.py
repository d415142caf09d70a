"""The options of tracking: who is told of a run, and how long its end waits for them."""

from __future__ import annotations

import argparse
from typing import Any

from ..tracking import names
from .values import several, whole

TRACK_WAIT = 60  # seconds


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds these options."""
    group = parser.add_argument_group("tracking")
    group.add_argument(
        "--track",
        type=several(names.NAMES),
        default=(),
        metavar="WHERE",
        help=f"one or several of {','.join(names.NAMES)}: parameters, metrics, world and model "
        "of the run, to MLFLOW_TRACKING_URI or the model's folder, and to TensorBoard's files",
    )
    group.add_argument(
        "--track-wait",
        type=whole(0, 86400),
        metavar="SECONDS",
        help="that the end waits for a server that hasn't taken all yet; the rest is kept in a "
        f"file (default {TRACK_WAIT})",
    )


def problem(given: Any) -> str | None:
    """What these options have against each other, in a line."""
    if given.track_wait is not None and not given.track:
        return "argument --track-wait: nothing is tracked; add --track or leave it out"
    return None
