"""One rank of this host: its process, what is known of it, and its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Sequence

from launch_runtime import failures, state_file
from launch_runtime.failures import Failure
from launch_runtime.host.console import Console
from launch_runtime.host.moving_counts import MovingCounts
from launch_runtime.host.processes import signal_group
from launch_runtime.host.rank_evidence import RankEvidence
from launch_runtime.host.rank_output import RankOutput
from launch_runtime.host.stack_file import StackFile
from launch_runtime.words import HOROVOD, Words

# Of a guard's counts those that are steps of a training; after so many changes of them, or of
# counts in its lines, a rank's steps are known.
_STEPS = ("steps", "batches", "exchanges")
_KNOWN_MOVES = 3
_ABORT_SECONDS = 0.1  # for the last lines of a rank that has aborted
_PUT_OFF = 3  # times the time without progress, by lines alone


class Rank:
    """A guard with the user's script in it, in a session and process group of its own.

    Args:
        number: The global rank.
        host: This host's name.
        world_size: Of the job.
        stamp: The job's, for the proof.
        words: The strategy's.
    """

    def __init__(
        self, number: int, host: str, world_size: int, stamp: str = "", words: Words = HOROVOD
    ):
        self.number, self.host = number, host
        self._world_size, self._stamp, self._words = world_size, stamp, words
        self._state_path = state_file.create()  # all processes of the rank record in it
        self._state_size = 0  # as it was looked at last
        self._evidence = RankEvidence(self._state_path)
        self._process: subprocess.Popen[bytes] | None = None
        self._output: RankOutput | None = None
        self._lifeline = -1
        self._initialised = self._script_ended = False
        self.stacks: StackFile | None = None  # where the job's hangs are looked for
        self.counts: dict[str, int] = {}  # its exchanges and steps, as its guard counts them
        self._lines: MovingCounts | None = None  # where the job's hangs are looked for
        self._moves = 0  # how often its guard's counts have changed
        self._told = 0.0  # when the guard has said anything last
        self.failure: Failure | None = None  # what the guard has said of its own end

    def start(
        self,
        command: Sequence[str],
        folder: str,
        environment: dict[str, str],
        console: Console,
        log_path: str,
        on_event: Callable[[int, dict[str, Any]], None],
    ) -> None:
        """Starts the guard.

        Args:
            command: After the interpreter: guard.py, script, arguments.
            folder: The working folder.
            environment: From :mod:`rank_environment`.
            console: Where its lines go.
            log_path: For its raw output, or "".
            on_event: See :class:`RankOutput`.

        Raises:
            OSError: No more processes, memory, descriptors, or no log.
        """
        output, output_write = os.pipe()
        status, status_write = os.pipe()
        # Its write end lives in this process alone: when this process dies, however, the kernel
        # tells the rank.
        lifeline, self._lifeline = os.pipe()
        self._told = time.monotonic()
        if environment.get("LAUNCH_HANG_AFTER"):
            self._lines, self.stacks = MovingCounts(), StackFile()
            environment = {**environment, "LAUNCH_STACKS_FD": str(self.stacks.descriptor)}
        passed = (status_write, lifeline, *([self.stacks.descriptor] if self.stacks else []))
        self._output = RankOutput(
            self.number,
            output,
            status,
            console,
            log_path,
            self._stamp,
            on_event,
            self._words.idle,
            self._lines,
        )
        self._process = subprocess.Popen(
            [sys.executable, *command],
            stdin=self._standard_input(),
            stdout=output_write,
            stderr=subprocess.STDOUT,
            env={
                **environment,
                "LAUNCH_STATUS_FD": str(status_write),
                "LAUNCH_LIFELINE_FD": str(lifeline),
                "LAUNCH_RANK_STATE": self._state_path,
            },
            cwd=folder,
            pass_fds=passed,
            start_new_session=True,
        )
        for descriptor in (output_write, status_write, lifeline):
            os.close(descriptor)
        self._output.start()

    def _standard_input(self) -> int | None:
        """The only rank of a job gets the agent's own where a launcher on this machine hands its
        own on; no rank gets one that others would have to share."""
        handed_on = os.environ.get("LAUNCH_STDIN") == "inherit" and self._world_size == 1
        return None if handed_on else subprocess.DEVNULL

    @property
    def started(self) -> bool:
        """Whether it has a process."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """The guard's process, which leads the rank's group."""
        return self._process.pid if self._process else 0

    @property
    def proof(self) -> str:
        """What the guard, or a child process of the script, has said of the world; rank 0's."""
        return self._output.proof if self._output else ""

    def look_for_proof(self) -> None:
        """Takes the proof that a child process of rank 0 has left in the state file."""
        size = state_file.size(self._state_path)
        if self.number == 0 and self._output and not self.proof and size != self._state_size:
            self._state_size = size
            text = state_file.proof(self._state_path)
            if text:
                self._output.prove(text)

    def evidence(self, limit: int) -> list[dict[str, Any]]:
        """What is known of its training; at most ``limit`` bytes as JSON."""
        return self._evidence.records(limit)

    def poll(self) -> int | None:
        """The guard's exit status as subprocess has it, or None while it runs."""
        return self._process.poll() if self._process else None

    @property
    def initialised(self) -> bool:
        """Whether the guard, or a child process of it, has joined the others."""
        self._initialised = self._initialised or state_file.holds(
            self._state_path, state_file.INITIALISED
        )
        return self._initialised

    def progressed(self, after: float) -> float:
        """When it has made progress last; monotonic seconds.

        That is when its guard has told anything, or it has written a line. Once it is known how
        it counts its steps, lines in which no count goes up put a hang off and hide none: they
        count until so many times ``after`` behind the last step.

        Args:
            after: Seconds without progress after which the job hangs.
        """
        if self._output is None:
            return self._told
        heard, certain = self._output.heard, max(self._told, self._output.moved)
        moves = self._moves + (self._lines.moves if self._lines else 0)
        if moves >= _KNOWN_MOVES:
            heard = min(heard, certain + (_PUT_OFF - 1) * after)
        return max(heard, certain)

    def say(self, texts: Sequence[str]) -> None:
        """Prints lines about the rank, as lines of it; from any thread."""
        if self._output:
            self._output.say(texts)

    @property
    def phase(self) -> str:
        """How far the rank has come."""
        if self._script_ended:
            return failures.ENDING
        return failures.TRAINING if self.initialised else failures.STARTING

    def take(self, event: dict[str, Any]) -> Failure | None:
        """Notes what the guard said; a failure where it said that the rank fails."""
        kind = event["event"]
        self._told = time.monotonic()
        if kind == "progress":
            counts = {str(name): int(count) for name, count in event["counts"].items()}
            self._moves += any(counts.get(name) != self.counts.get(name) for name in _STEPS)
            self.counts = counts
        elif kind == "initialised":
            self._initialised = True
        elif kind == "evidence":
            self._evidence.feed(event["line"])
        elif kind == "ended":
            self._script_ended = True
        elif kind == "log-lost" and self.failure is None:
            self.failure = Failure(
                self.host, "cannot write {}".format(event["reason"]), self.phase, rank=self.number
            )
            return self.failure
        elif kind == "failing" and self.failure is None:
            code = int(event["code"])
            self.failure = Failure(
                self.host,
                str(event["reason"]),
                self.phase,
                rank=self.number,
                exit_code=code,
                consequence=bool(event["consequence"]),
                code=failures.leaving_code(code, self.phase),
            )
            return self.failure
        return None

    def judge(self, status: int) -> Failure | None:
        """What the exit status says that the guard has not; None for a good end."""
        if self.failure is not None:
            return None
        refused = state_file.refusal(self._state_path)
        if refused:
            self.failure = Failure(self.host, refused, self.phase, rank=self.number, exit_code=1)
        elif status != 0 or (self._world_size > 1 and not self.initialised):
            self.failure = failures.of_exit(
                self.host,
                self.number,
                status,
                self.phase,
                self._world_size,
                self._words,
                self._words_of_abort(status),
            )
        return self.failure

    def _words_of_abort(self, status: int) -> str:
        if self._output is None or status != -signal.SIGABRT:
            return ""
        if not self._output.abort:
            self.drain(_ABORT_SECONDS)
        return self._output.abort

    def signal(self, number: int) -> None:
        """Sends a signal to the rank's group; one that has said why it fails gets SIGKILL alone,
        so that it can finish its traceback."""
        if self._process and (number == signal.SIGKILL or self.failure is None):
            signal_group(self._process.pid, number)

    def read_status(self) -> None:
        """Takes what the guard has said so far."""
        if self._output:
            self._output.read_status()

    def drain(self, seconds: float | None) -> None:
        """Blocks until all of its output is read, or for ``seconds``."""
        if self._output and self._output.is_alive():
            self._output.join(seconds)
