"""Jobs of another machine that has the same data folder, as by NFS, or of another container on the
same volume: their processes cannot be looked at from here, and are not taken for gone at once."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launchers.machine.supervised.folder import JobFolder

BEAT_SECONDS = 60.0
# After which a machine that cannot be asked is gone; clocks of machines differ by less.
SILENT_SECONDS = 600.0
# The same from the job's start, where its folder cannot be seen from here.
UNSEEN_SECONDS = 86400.0


def here() -> str:
    """This machine's name, for the record of a job that it runs."""
    return socket.gethostname()


def host_of(details: Mapping[str, Any]) -> str:
    """The other machine that runs the job; "" where it is this one, or nobody has said."""
    host = details.get("host")
    return host if isinstance(host, str) and host != here() else ""


def beat(folder: JobFolder) -> None:
    """A sign of life of the job's supervisor."""
    with contextlib.suppress(OSError):
        os.utime(folder.supervisor_log)


def why_lost(details: Mapping[str, Any], created: float) -> str:
    """Why the other machine's job is taken for lost; "" while it may still run.

    Args:
        created: When it was started, in seconds since the epoch.
    """
    told, most = created, UNSEEN_SECONDS
    with contextlib.suppress(KeyError, OSError):
        told = JobFolder(Path(details["folder"])).supervisor_log.stat().st_mtime
        most = SILENT_SECONDS
    silent = time.time() - told
    if silent < most:
        return ""
    return f"its supervisor on {host_of(details)} has given no sign of life for {silent:.0f} s"
