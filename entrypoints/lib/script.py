"""How a training script begins and ends: its command line, and one line for what stops it."""

from __future__ import annotations

import os
import sys
from typing import Callable, Sequence

from . import arguments
from .arguments import Settings
from .errors import (
    PeerEndedError,
    StoppedError,
    TrainingError,
    leave_after_speaker,
    speaks_for_all,
)
from .ranks import Ranks
from .stopping import EXIT_CODE

# What Horovod's and PyTorch's operations say on every rank once one of them is gone.
PEER_GONE = ("Horovod has been shut down", "Connection closed by peer", "Connection reset by peer")


def run(train: Callable[[Settings], None], argv: Sequence[str] | None = None) -> int:
    """Trains by the command line and gives the process's exit code.

    Args:
        train: The script's training, on this rank.
        argv: The command line; for None the process's own.

    Returns:
        0, or 1 after one line on standard error that says what stopped the training; where that is
        the same on every rank, or another rank's, only one of them says it. 143 after SIGTERM.

    Raises:
        SystemExit: With 2 for an impossible command line, with 0 after ``--help``.
    """
    settings = arguments.parse(argv)
    try:
        train(settings)
        if Ranks.of_this_process is not None:
            Ranks.of_this_process.leave()
    except TrainingError as error:
        if Ranks.of_this_process is not None or speaks_for_all(os.environ):
            _complain(str(error))
        else:
            leave_after_speaker()
        return 1
    except StoppedError as stop:
        ranks = Ranks.of_this_process
        if ranks is None or ranks.first:
            _say_last(f"stopped: {stop}")
        if ranks is not None:
            ranks.leave()  # all ranks stop together
        return EXIT_CODE
    except PeerEndedError:
        leave_after_speaker()
        return 1
    except Exception as error:
        ranks = Ranks.of_this_process
        if ranks is None or ranks.size == 1 or not any(text in str(error) for text in PEER_GONE):
            raise
        _complain(f"rank {ranks.rank} stops: another rank has ended in the middle of training")
        leave_after_speaker()
        return 1
    return 0


def _complain(message: str) -> None:
    _say_last(f"error: {message}")


def _say_last(line: str) -> None:
    sys.stdout.flush()
    print(f"{os.path.basename(sys.argv[0])}: {line}", file=sys.stderr, flush=True)
