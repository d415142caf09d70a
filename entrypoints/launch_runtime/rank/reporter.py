"""What a rank says about itself: to its agent where it has one, else in its output."""

from __future__ import annotations

import json
import os
import sys
from typing import Sequence

from launch_runtime import lines, state_file
from launch_runtime.failures import STARTING, TRAINING
from launch_runtime.rank import secret_values
from launch_runtime.rank.refusal import RefusalError


class Reporter:
    """Speaks for one rank.

    Args:
        state_path: The file in which all processes of the rank record what happened.
        status: Write end of the agent's status pipe, or None.
        rank: The global rank, once it is known.
        host: This host's name, once it is known.

    Attributes:
        script_runs: The script may have printed a part of a line.
    """

    def __init__(self, state_path: str, status: int | None = None, rank: int = 0, host: str = ""):
        self.state_path = state_path
        self._pipe = (status, _identity(status)) if status is not None else None
        self.rank, self.host = rank, host
        self.script_runs = False
        self._initialised = False

    @property
    def has_agent(self) -> bool:
        """Whether an agent listens."""
        return self._pipe is not None

    @property
    def initialised(self) -> bool:
        """Whether ``hvd.init()`` has returned in this process or another one of the rank."""
        return self._initialised or state_file.holds(self.state_path, state_file.INITIALISED)

    def note_initialised(self) -> None:
        """Remembers that ``hvd.init()`` returned with the right size."""
        if not self._initialised:
            self._initialised = True
            self._tell(event="initialised")
            state_file.record(self.state_path, state_file.INITIALISED)

    def proof(self, text: str) -> None:
        """The line that a launcher waits for."""
        self.line(text)
        self._tell(event="proven")

    def ended(self) -> None:
        """The script has come to its end."""
        self._tell(event="ended")

    def failing(self, reason: str, code: int, consequence: bool = False) -> None:
        """The rank is about to end with ``code``; said before anything else is printed of it."""
        reason = secret_values.mask(lines.one_line(reason))
        told = self._tell(event="failing", reason=reason, code=code, consequence=consequence)
        if not told and not consequence:
            self._print_failure(reason)

    def refuse(self, refusal: RefusalError) -> None:
        """Says why the rank must not go on; the caller ends it with code 1."""
        self.failing(refusal.reason, 1)
        self._say(refusal.explanation())

    def refuse_in_child(self, refusal: RefusalError, agent_looks: bool) -> None:
        """The same from a process that has no agent's pipe.

        Leaves a record. Where an agent looks there, the line about the failure is the agent's.
        """
        state_file.record(self.state_path, state_file.REFUSED, refusal.reason)
        if not agent_looks:
            self._print_failure(refusal.reason)
        self._say(refusal.explanation())

    def line(self, text: str) -> None:
        """Prints a whole line, whatever the script has left unfinished on its last one."""
        self._say([text])

    def _say(self, texts: Sequence[str]) -> None:
        masked = [secret_values.mask(text) for text in texts]
        if all(self._tell(event="line", text=text) for text in masked):
            return
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                continue
        start = "\n" if self.script_runs else ""
        try:
            # In one go: under mpirun other ranks write to the same place.
            lines.write_all(1, (start + "\n".join([*masked, ""])).encode("utf-8", "replace"))
        except OSError:
            return

    def _print_failure(self, reason: str) -> None:
        phase = TRAINING if self.initialised else STARTING
        fields = {"rank": self.rank, "host": self.host, "phase": phase, "reason": reason}
        self.line(lines.failure(fields))

    def _tell(self, **event: object) -> bool:
        if self._pipe is None:
            return False
        status, identity = self._pipe
        try:
            # A script may close all descriptors, and open a file of its own with this number.
            if _identity(status) != identity:
                return False
            lines.write_all(status, json.dumps(event).encode() + b"\n")
        except OSError:
            return False
        return True


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino
