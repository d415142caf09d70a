"""The options of what goes from rank to rank; ``sync`` has what they mean."""

from __future__ import annotations

import argparse

from .. import sync
from .values import whole


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds these options."""
    group = parser.add_argument_group("exchange between ranks")
    group.add_argument(
        "--sync",
        type=sync.parse,
        default=sync.Sync(),
        metavar="HOW",
        help="gradients of every step, averaged or by Adasum (which needs mpirun), or K steps (an "
        f"epoch) of each rank alone and then averaged parameters: {sync.FORMS} (default allreduce)",
    )
    group.add_argument(
        "--compression",
        choices=sync.COMPRESSIONS,
        default=sync.NONE,
        help="gradients travel as they are, or in 16 bits (default none)",
    )
    group.add_argument(
        "--backward-passes",
        type=whole(1),
        default=1,
        metavar="N",
        help="batches whose gradients a rank adds up before they are exchanged (default 1)",
    )
    group.add_argument(
        "--divide",
        choices=sync.DIVIDED,
        default=sync.SAMPLES,
        help="each rank reads its share of an epoch's samples, or all of them in its share of the "
        "epochs (default samples)",
    )
