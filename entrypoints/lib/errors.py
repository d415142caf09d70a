"""The two ways in which a training run ends without a result and without a traceback."""

from __future__ import annotations

import time
from typing import Mapping


class TrainingError(Exception):
    """Something of the user's or of the machine's stops this run: one line says what and the fix.

    Raised on the rank that met it. ``Ranks.together`` makes every rank end with it.
    """


class StoppedError(Exception):
    """All ranks were told to stop and have come to the same step; the text says where they are."""


class PeerEndedError(Exception):
    """Another rank has said why the run ends; this one has nothing to add."""


# Set by what starts ranks, before they have met: Horovod's own, Open MPI's, PMI's and torchrun's.
RANK_VARIABLES = ("HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK")
SECONDS_FOR_SPEAKER_TO_LEAVE = 2.0


def speaks_for_all(environment: Mapping[str, str]) -> bool:
    """Whether this process is rank 0, as far as one can tell before the ranks have met.

    What fails alike on every rank is said once.
    """
    told = (environment[name] for name in RANK_VARIABLES if environment.get(name))
    return next(told, "0") == "0"


def leave_after_speaker() -> None:
    """Lets the rank that says why the run ends be the first that leaves; blocks for seconds.

    Who started the ranks names the first one that left, and ends the others at once.
    """
    time.sleep(SECONDS_FOR_SPEAKER_TO_LEAVE)


def first_line(error: BaseException) -> str:
    """What an error says, without the lines below it; its type where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
