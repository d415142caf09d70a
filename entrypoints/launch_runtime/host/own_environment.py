"""What the agent finds in its own environment and keeps from its ranks: the job's nonce."""

from __future__ import annotations

import ctypes
import os

from launch_runtime import stamps


def take_nonce() -> str:
    """The job's nonce, or "". From now on it is not in this process's environment, nor where the
    kernel shows the environment that it was started with (/proc/PID/environ).

    It stays in this process's memory, which a process of the same user may read where the machine
    lets it trace others.
    """
    nonce = os.environ.get(stamps.NONCE, "")
    _overwrite(stamps.NONCE, len(os.fsencode(nonce)))
    os.environ.pop(stamps.NONCE, None)
    return nonce


def _overwrite(name: str, size: int) -> None:
    """Writes over a variable's value where the C library has it, which is what the kernel shows:
    taking it out of the list leaves it there."""
    try:
        getenv = ctypes.CDLL(None).getenv
    except (OSError, AttributeError):
        return
    getenv.restype, getenv.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    place = getenv(os.fsencode(name))
    if place:
        ctypes.memset(place, ord("*"), size)
