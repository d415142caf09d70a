"""What a rank's processes record in one file of the rank, so that guard and agent know it.

The script may run Horovod in a child process, and a child that was spawned shares nothing with
the guard but files. Lines are appended whole; nothing is ever rewritten. A file that grows past
its limits is not read further, nor written: a script that fills it hurts nobody but itself.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Iterator

INITIALISED, REFUSED, PROVEN, EVIDENCE = "initialised", "refused", "proven", "evidence"

READ_LIMIT = 16 << 20  # bytes of the file
_ROOM_FOR_LAST = 4 << 20  # of these are kept for what the processes say last
# What is kept of one rank's evidence: a record has some hundred bytes for each variable at most.
PROCESSES = 64
EVIDENCE_BYTES = 1 << 20


def create() -> str:
    """The path of a new record, which on Linux is gone with this process, however it goes."""
    if hasattr(os, "memfd_create"):
        # No MFD_CLOEXEC: it stays when the script replaces this process by another program.
        return f"/proc/{os.getpid()}/fd/{os.memfd_create('launch-rank', 0)}"
    descriptor, path = tempfile.mkstemp(prefix="launch-rank-")
    os.close(descriptor)
    return path


def record(path: str, event: str, reason: str = "", **fields: object) -> None:
    """Appends an event. A file that cannot be written is no reason to end a training."""
    entry = {"event": event, "reason": reason, "pid": os.getpid(), **fields}
    _append(path, json.dumps(entry), READ_LIMIT)


def record_evidence(path: str, found: dict[str, Any]) -> None:
    """Appends a record of evidence. Where many have come already, the last ones alone."""
    limit = READ_LIMIT if found.get("final") else READ_LIMIT - _ROOM_FOR_LAST
    text = json.dumps({"event": EVIDENCE, "pid": os.getpid(), "record": found})
    if len(text) <= EVIDENCE_BYTES:
        _append(path, text, limit)


def size(path: str) -> int:
    """In bytes; it grows with every event. 0 where there is no file."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def holds(path: str, event: str) -> bool:
    """Whether ``event`` was recorded."""
    return any(entry["event"] == event for entry in _entries(path))


def refusal(path: str) -> str:
    """The reason of the first refusal that was recorded, or ""."""
    return _first(path, REFUSED)


def proof(path: str) -> str:
    """The text of the first proof that was recorded, or ""."""
    return _first(path, PROVEN)


def evidence(path: str) -> list[dict[str, Any]]:
    """The last record of each process, oldest first."""
    return newest(entry.get("record") for entry in _entries(path) if entry["event"] == EVIDENCE)


def newest(records: Iterator[Any] | list[Any]) -> list[dict[str, Any]]:
    """The last record of each process, of the last ``PROCESSES`` ones, ``EVIDENCE_BYTES`` at most
    as JSON; what is no record is left out."""
    by_process: dict[int, dict[str, Any]] = {}
    for found in records:
        if isinstance(found, dict) and isinstance(found.get("pid"), int):
            by_process.pop(found["pid"], None)
            by_process[found["pid"]] = found
    kept: list[dict[str, Any]] = []
    room = EVIDENCE_BYTES
    for found in reversed(list(by_process.values())[-PROCESSES:]):
        room -= len(json.dumps(found))
        if room < 0:
            break
        kept.append(found)
    return kept[::-1]


def _first(path: str, event: str) -> str:
    return next((str(one.get("reason", "")) for one in _entries(path) if one["event"] == event), "")


def _append(path: str, line: str, limit: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return
    try:
        if os.fstat(descriptor).st_size + len(line) < limit:
            os.write(descriptor, line.encode() + b"\n")
    except OSError:
        return
    finally:
        os.close(descriptor)


def _entries(path: str) -> Iterator[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            text = file.read(READ_LIMIT)
    except OSError:
        return
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and "event" in entry:
            yield entry
