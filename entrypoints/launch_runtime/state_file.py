"""What a rank's processes record in one file of the rank, so that guard and agent know it.

The script may run Horovod in a child process, and a child that was spawned shares nothing with
the guard but files. Lines are appended whole; nothing is ever rewritten.
"""

from __future__ import annotations

import json
import os
import tempfile

INITIALISED, REFUSED = "initialised", "refused"


def create() -> str:
    """The path of a new record, which on Linux is gone with this process, however it goes."""
    if hasattr(os, "memfd_create"):
        # No MFD_CLOEXEC: it stays when the script replaces this process by another program.
        return f"/proc/{os.getpid()}/fd/{os.memfd_create('launch-rank', 0)}"
    descriptor, path = tempfile.mkstemp(prefix="launch-rank-")
    os.close(descriptor)
    return path


def record(path: str, event: str, reason: str = "") -> None:
    """Appends an event. A file that cannot be written is no reason to end a training."""
    line = json.dumps({"event": event, "reason": reason, "pid": os.getpid()}) + "\n"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return
    try:
        os.write(descriptor, line.encode())
    except OSError:
        return
    finally:
        os.close(descriptor)


def holds(path: str, event: str) -> bool:
    """Whether ``event`` was recorded."""
    return any(entry["event"] == event for entry in _entries(path))


def refusal(path: str) -> str:
    """The reason of the first refusal that was recorded, or ""."""
    reasons = (entry["reason"] for entry in _entries(path) if entry["event"] == REFUSED)
    return next(reasons, "")


def _entries(path: str) -> list[dict[str, str]]:
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except (OSError, ValueError):
        return []
