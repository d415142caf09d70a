"""Trains an image classifier with Keras and Horovod, on one process or on many.

    python train_image_classifier.py                          one process
    horovodrun -np 2 python train_image_classifier.py         two on this machine
    launch local --instances 2 --processes 1 -- --epochs 3    through the launcher

Each rank reads its own share of every epoch and averages its gradients with the others'. Rank 0
writes a checkpoint after each epoch and the model at the end; a start that finds a checkpoint goes
on after it. ``--help`` lists the options, and the environment that names folders.
"""

from __future__ import annotations

import os
import sys
from typing import Sequence

from lib import arguments, stack
from lib.errors import PeerEndedError, TrainingError, leave_after_speaker, speaks_for_all

# What Horovod's operations say on every rank once one of them is gone.
PEER_GONE = ("Horovod has been shut down", "Connection closed by peer", "Connection reset by peer")


def main(argv: Sequence[str] | None = None) -> int:
    """The process's exit code: 0, or 1 after one line that says what stopped the training."""
    settings = arguments.parse(argv)
    ranks = None
    try:
        stack.import_quietly()
        # Only now: these import TensorFlow and Horovod, which read their settings then.
        from lib import image_classifier
        from lib.ranks import Ranks

        ranks = Ranks()
        gpus = stack.prepare_devices(ranks.position, ranks.on_this_host, os.environ)
        image_classifier.run(settings, ranks, gpus)
    except TrainingError as error:
        if ranks is not None or speaks_for_all(os.environ):
            _complain(str(error))
        else:
            leave_after_speaker()
        return 1
    except PeerEndedError:
        leave_after_speaker()
        return 1
    except Exception as error:
        if ranks is None or ranks.size == 1 or not any(text in str(error) for text in PEER_GONE):
            raise
        _complain(f"rank {ranks.rank} stops: another rank has ended in the middle of training")
        leave_after_speaker()
        return 1
    return 0


def _complain(message: str) -> None:
    sys.stdout.flush()
    print(f"{os.path.basename(__file__)}: error: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
