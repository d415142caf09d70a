"""The options of augmentation: what is done to pictures, by whom, and for predictions."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..data import dask_connection
from ..pictures import augmenting
from .values import several, whole

if TYPE_CHECKING:
    from ..arguments import Settings

AUGMENT = ("crop", "flip")


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds these options."""
    group = parser.add_argument_group("augmentation")
    kinds = ",".join(augmenting.KINDS)
    group.add_argument(
        "--augment",
        type=several(augmenting.KINDS),
        metavar="KINDS",
        help=f"of {kinds}: what is done to training pictures, by Dask's workers with --data "
        f"augment:PLACE (default {','.join(AUGMENT)}), else by a layer of the model (default "
        f"nothing), and what is done for --predict-copies (default {','.join(AUGMENT)})",
    )
    group.add_argument(
        "--scheduler",
        type=_scheduler,
        metavar="ADDRESS",
        help="Dask scheduler, tcp://HOST:PORT or tls://HOST:PORT, of --data augment:PLACE "
        "(default: one of each host's own, with a worker a core)",
    )
    group.add_argument(
        "--predict-copies",
        type=whole(0, 1000),
        default=0,
        metavar="N",
        help="test predictions are averaged over each picture and N augmented copies (default 0)",
    )


def problem(settings: Settings) -> str | None:
    """What these options have against the data, in a line."""
    if settings.scheduler and settings.data != "augment":
        return (
            f"argument --scheduler: --data {settings.data} needs no Dask; add --data augment:PLACE "
            "or leave it out"
        )
    return None


def _scheduler(text: str) -> str:
    if not dask_connection.ADDRESS.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected tcp://HOST:PORT or tls://HOST:PORT, as a Dask scheduler says it"
        )
    return text
