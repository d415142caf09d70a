"""What the agent finds in its own environment and keeps from its ranks: the job's nonce."""

from __future__ import annotations

import os

from launch_runtime import stamps


def take_nonce() -> str:
    """The job's nonce, or "". From now on it is not in this process's environment, nor where the
    kernel shows the environment that it was started with (/proc/PID/environ).

    It stays in this process's memory, which a process of the same user may read where the machine
    lets it trace others.
    """
    nonce = os.environ.get(stamps.NONCE, "")
    stamps.erase(os.environ)
    return nonce
