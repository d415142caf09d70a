"""What the script's own arguments say."""

from __future__ import annotations

from collections.abc import Sequence

# The shared scripts' argument for their checkpoints, ahead of LAUNCH_CHECKPOINT_DIR.
CHECKPOINTS = "checkpoint-dir"


def value_of(arguments: Sequence[str], name: str) -> str | None:
    """What ``--NAME`` is given, the last one where it stands twice; None where it is not there,
    or stands there without a value."""
    flag, found = f"--{name}", None
    for index, word in enumerate(arguments):
        if word == flag and index + 1 < len(arguments):
            found = arguments[index + 1]
        elif word.startswith(f"{flag}="):
            found = word.partition("=")[2]
    return found
