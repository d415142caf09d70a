"""The labels that everything of a rehearsal carries: the only state that is kept of it.

A container, a network and a folder each say which rehearsal they belong to, of which job, and
which process started it. So whatever a killed launcher leaves is found by the next one, and a
rehearsal that still runs in another terminal is never touched.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from launchers.machine.processes import identity, is_alive

PREFIX = "launch.rehearsal"
ID = f"{PREFIX}.id"
JOB = f"{PREFIX}.job"
OWNER = f"{PREFIX}.owner"  # identity of the launcher's process
MACHINE = f"{PREFIX}.machine"  # where that process is to be looked for
STARTED = f"{PREFIX}.started"  # seconds since the epoch


@dataclass(frozen=True)
class Labels:
    """Who a rehearsal is.

    Attributes:
        id: Six letters of its own; names of containers and networks carry it.
        owner: See :func:`launchers.machine.processes.identity`.
        machine: See :func:`this_machine`.
        started: Seconds since the epoch.
    """

    id: str
    job: str
    owner: str
    machine: str
    started: float

    @classmethod
    def new(cls, job: str) -> Labels:
        """Labels of a rehearsal that this process starts now."""
        return cls(secrets.token_hex(3), job, identity(os.getpid()), this_machine(), time.time())

    @classmethod
    def read(cls, values: Mapping[str, str]) -> Labels:
        """Labels as an engine or a file gives them back; what is missing is empty."""
        try:
            started = float(values.get(STARTED, "0"))
        except ValueError:
            started = 0.0
        return cls(
            values.get(ID, ""),
            values.get(JOB, ""),
            values.get(OWNER, ""),
            values.get(MACHINE, ""),
            started,
        )

    @property
    def name(self) -> str:
        """What names of containers and networks begin with."""
        return f"launch-{self.id}"

    @property
    def is_here(self) -> bool:
        """Whether this machine can tell if the owner lives."""
        return self.machine == this_machine()

    @property
    def is_running(self) -> bool:
        """Whether the process that started it lives; False where it cannot be told."""
        return self.is_here and is_alive(self.owner)

    @property
    def is_left_over(self) -> bool:
        """Whether its owner is known to be gone."""
        return self.is_here and not is_alive(self.owner)

    def values(self) -> dict[str, str]:
        """For an engine or a file; :meth:`read` takes them back."""
        return {
            ID: self.id,
            JOB: self.job,
            OWNER: self.owner,
            MACHINE: self.machine,
            STARTED: f"{self.started:.3f}",
        }


def this_machine() -> str:
    """Where process numbers mean to this process what they mean to their owner: host name, user,
    machine and, on Linux, namespace. Two launchers in two containers share an engine but no
    process numbers, and some systems hide one user's processes from another."""
    parts = [socket.gethostname(), str(os.getuid())]
    for read in (_machine_id, _namespace):
        try:
            parts.append(read())
        except OSError:
            parts.append("")
    return "/".join(parts)


def _machine_id() -> str:
    return Path("/etc/machine-id").read_text(encoding="utf-8").strip()


def _namespace() -> str:
    return os.readlink("/proc/self/ns/pid")
