"""The stamp on the lines by which agent and guard speak to the launcher.

The job definition carries a nonce that was drawn for this job alone. Its one-way digest stands on
every such line, so that a line that a script prints, or that comes from another job's log, is no
more than text. The nonce itself is never printed. That guards against accident and replay, not
against malice: a script can read its own process.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from typing import Mapping, MutableMapping

NONCE = "LAUNCH_NONCE"
_LENGTH = 16  # hexadecimal characters


def of(nonce: str) -> str:
    """The stamp of a nonce; "" where there is none, as in a document from elsewhere.

    Example:
        >>> of("")
        ''
    """
    if not nonce:
        return ""
    return hashlib.sha256(b"launch stamp " + nonce.encode("utf-8", "replace")).hexdigest()[:_LENGTH]


def read(environment: Mapping[str, str]) -> str:
    """The stamp of the nonce in ``environment``, or ""."""
    return of(environment.get(NONCE, ""))


def take(environment: MutableMapping[str, str]) -> str:
    """The same; the nonce is not in ``environment`` any more (see :func:`erase`)."""
    stamp = read(environment)
    erase(environment)
    return stamp


def erase(environment: MutableMapping[str, str]) -> None:
    """Takes the nonce out of ``environment``; where that is this process's own, also out of what
    the kernel shows of it (/proc/PID/environ): taking it out of the list leaves it there."""
    nonce = environment.pop(NONCE, "")
    if environment is os.environ and nonce:
        _overwrite(nonce)


def _overwrite(nonce: str) -> None:
    """Writes over the value in the environment that this process was started with.

    It lies where the kernel put it, whatever the C library's list says by now.
    """
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
        start, end = (int(field) for field in fields[47:49])  # env_start, env_end: proc(5)
        whole = ctypes.string_at(start, end - start) if 0 < start < end else b""
        at = whole.find(b"\0" + os.fsencode(f"{NONCE}={nonce}") + b"\0")
        first = whole.startswith(os.fsencode(f"{NONCE}={nonce}") + b"\0")
        if first or at >= 0:
            place = start + (0 if first else at + 1) + len(NONCE) + 1
            ctypes.memset(place, ord("*"), len(os.fsencode(nonce)))
    except (OSError, ValueError):
        return  # no Linux, or one that does not tell
