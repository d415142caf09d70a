"""What a rank says about itself: to its agent where it has one, else in its output.

The guard's process has the agent's status pipe. Other processes of the rank, those that the script
forks too where much is to be said, leave it in the rank's state file, which the agent reads; where
no agent is, the guard does, and prints.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any, Mapping, Sequence

from launch_runtime import lines, state_file
from launch_runtime.evidence.lines import encode
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
        stamp: The job's, for a rank without an agent.
        under_agent: An agent reads the state file; None where ``status`` says so.
        guard: The process id of the guard; None for this one.

    Attributes:
        script_runs: The script may have printed a part of a line.
    """

    def __init__(
        self,
        state_path: str,
        status: int | None = None,
        rank: int = 0,
        host: str = "",
        stamp: str = "",
        under_agent: bool | None = None,
        guard: int | None = None,
    ):
        self.state_path = state_path
        self._pipe = (status, _identity(status)) if status is not None else None
        self.has_agent = self._pipe is not None if under_agent is None else under_agent
        self.rank, self.host, self.stamp = rank, host, stamp
        self.script_runs = False
        self._initialised = False
        self._guard = os.getpid() if guard is None else guard
        self._own: dict[str, Any] | None = None  # this process's last record of evidence
        self._printed = ""  # the records that were printed last, as JSON
        self._serial = 0
        self._counts: dict[str, int] = {}
        self._lock = threading.RLock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    @property
    def initialised(self) -> bool:
        """Whether ``hvd.init()`` has returned in this process or another one of the rank."""
        return self._initialised or state_file.holds(self.state_path, state_file.INITIALISED)

    def secrets(self, parts: Sequence[str]) -> bool:
        """Tells an agent what to mask, before anything is printed; False where none is told."""
        return all(self._tell(event="secrets", values=[part]) for part in parts)

    def note_initialised(self) -> None:
        """Remembers that ``hvd.init()`` returned with the right size."""
        if not self._initialised:
            self._initialised = True
            self._tell(event="initialised")
            state_file.record(self.state_path, state_file.INITIALISED)

    def proof(self, text: str) -> None:
        """What a launcher waits for, from :func:`lines.world`. Under an agent it is the agent that
        prints it, with the stamp, which no process of the rank knows."""
        if self._tell(event="proof", text=text):
            return
        if self.has_agent:
            state_file.record(self.state_path, state_file.PROVEN, text)
        else:
            self.line(lines.proof(text, self.stamp))

    def progress(self, counts: Mapping[str, int]) -> None:
        """The rank's exchanges and steps so far, by name; told to the agent where it is news."""
        if dict(counts) != self._counts:
            self._counts = dict(counts)
            self._tell(event="progress", counts=self._counts)

    def ended(self) -> None:
        """The script has come to its end."""
        self._tell(event="ended")

    def failing(
        self, reason: str, code: int, consequence: bool = False, mute: bool = False
    ) -> None:
        """The rank is about to end with ``code``; said before anything else is printed of it.

        Args:
            mute: The reason says nothing of what was wrong: the rank's last line may.
        """
        reason = secret_values.mask(lines.one_line(reason))
        told = self._tell(
            event="failing", reason=reason, code=code, consequence=consequence, mute=mute
        )
        if not told and not consequence:
            self._print_failure(reason)

    def refuse(self, refusal: RefusalError) -> None:
        """Says why the rank must not go on; the caller ends it with code 1."""
        self.failing(refusal.reason, 1)
        if self.has_agent and self._pipe is None:  # a program in the guard's place
            state_file.record(self.state_path, state_file.REFUSED, refusal.reason)
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

    def say(self, texts: Sequence[str]) -> None:
        """Prints whole lines, with no other rank's between them."""
        self._say(texts)

    # -- evidence ------------------------------------------------------------------------------

    def evidence(self, record: dict[str, Any]) -> None:
        """Takes this process's newest record of its training, and passes it on."""
        with self._lock:
            if os.getpid() != self._guard:
                state_file.record_evidence(self.state_path, record)
            elif not self.has_agent:
                self._own = record
                self.print_evidence()
            elif not self._tell_evidence(record):
                state_file.record_evidence(self.state_path, record)

    def print_evidence(self) -> None:
        """In the guard of a rank without an agent: prints what this process and its children have
        recorded, where that is news."""
        if self.has_agent or os.getpid() != self._guard:
            return
        with self._lock:
            own = [self._own] if self._own else []
            records = state_file.newest([*state_file.evidence(self.state_path), *own])
            text = json.dumps(records)
            if records and text != self._printed:
                self._printed = text
                serial = self._next_serial()
                self._print(encode(records, self.rank, serial, self.stamp))

    def _tell_evidence(self, record: dict[str, Any]) -> bool:
        """In lines short enough that no other writer of the pipe comes between; one that is too
        large for them the state file does not take either."""
        fits = len(json.dumps(record)) <= state_file.EVIDENCE_BYTES
        return fits and all(
            self._tell(event="evidence", line=part)
            for part in encode([record], 0, self._next_serial())
        )

    def _next_serial(self) -> int:
        """A program that the script puts in this one's place goes on counting: milliseconds."""
        self._serial = max(self._serial + 1, time.time_ns() // 1_000_000)
        return self._serial

    # -- speaking ------------------------------------------------------------------------------

    def _say(self, texts: Sequence[str]) -> None:
        masked = [secret_values.mask(text) for text in texts]
        if all(self._tell(event="line", text=text) for text in masked):
            return
        # In one go: under mpirun other ranks write to the same place.
        self._print(["\n".join(masked)])

    def _print(self, pieces: Sequence[str]) -> None:
        """Each of them, of one line or more, in one go."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                continue
        start = "\n" if self.script_runs else ""
        try:
            for piece in pieces:
                lines.write_all(1, f"{start}{piece}\n".encode("utf-8", "replace"))
                start = ""
        except OSError:
            return

    def _print_failure(self, reason: str) -> None:
        phase = TRAINING if self.initialised else STARTING
        fields = {"rank": self.rank, "host": self.host, "phase": phase, "reason": reason}
        self.line(lines.failure(fields, self.stamp))

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

    def _after_fork(self) -> None:
        """What a forked child has not said itself it must not repeat, nor wait for a lock of a
        thread that it does not have."""
        self._lock = threading.RLock()
        self._own = None


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino
