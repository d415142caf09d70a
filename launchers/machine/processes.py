"""Processes by identity, not by number alone: a number is given again after its owner's end."""

from __future__ import annotations

import os
from pathlib import Path


def identity(pid: int) -> str:
    """``pid:start time:boot`` of a living process, or an empty string.

    The start time is field 22 of /proc/PID/stat (proc(5)), in clock ticks since boot. Where there
    is no /proc the number alone serves.
    """
    try:
        # The command in parentheses may hold any bytes.
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return str(pid) if not Path("/proc/self/stat").exists() and _exists(pid) else ""
    fields = stat.rpartition(b")")[2].decode().split()
    if fields[0] == "Z":
        return ""
    return f"{pid}:{fields[19]}:{_boot()}"


def is_alive(known: str) -> bool:
    """Whether the process of that identity still runs."""
    return bool(known) and identity(int(known.partition(":")[0])) == known


def is_ours(known: str) -> bool:
    """Whether this user may end the process of that identity; true of one that has ended."""
    try:
        send(known, 0)  # nothing; the system looks at the rights all the same
    except PermissionError:
        return False
    return True


def send(known: str, number: int) -> bool:
    """Send a signal to the process of that identity; False where it has ended."""
    if not is_alive(known):
        return False
    try:
        os.kill(int(known.partition(":")[0]), number)
    except ProcessLookupError:
        return False
    return True


def _boot() -> str:
    """This start of the machine; "" where a sandbox does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
