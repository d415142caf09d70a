"""Sends what a training has kept because its tracking server did not take it.

    python send_tracking.py tracking-mlflow-1f3a9c22.jsonl

The file says whereto; MLFLOW_TRACKING_URI, where it is set, says another server. It is removed
once all of it is sent. Sending it twice changes nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Sequence

from lib.errors import TrainingError
from lib.tracking import later


def main(argv: Sequence[str] | None = None) -> int:
    """The process's exit code: 0, or 1 after one line that says what was not sent."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n", 1)[0], allow_abbrev=False
    )
    parser.add_argument("file", metavar="FILE", help="tracking-*.jsonl, as the training named it")
    parser.add_argument(
        "--to",
        metavar="URI",
        default=os.environ.get("MLFLOW_TRACKING_URI") or None,
        help="MLflow's server or folder (default: MLFLOW_TRACKING_URI, else what FILE says)",
    )
    given = parser.parse_args(argv)
    try:
        later.send(given.file, given.to)
    except TrainingError as error:
        sys.stdout.flush()
        print(f"{parser.prog}: error: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
