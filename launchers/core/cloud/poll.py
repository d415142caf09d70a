"""How often a job is looked at."""

from __future__ import annotations

import os

POLL_VARIABLE = "LAUNCH_POLL_SECONDS"
_POLL_SECONDS = 3.0


def poll_seconds() -> float:
    """Between two looks at a job; LAUNCH_POLL_SECONDS, else 3."""
    try:
        return max(0.05, float(os.environ[POLL_VARIABLE]))
    except (KeyError, ValueError):
        return _POLL_SECONDS
