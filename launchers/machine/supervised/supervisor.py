"""The process that owns one job: starts what the job is made of, keeps its lines, and says how it
ended. It outlives the command that started it only where that was asked for.

It ends the job when the pipe LAUNCH_LIFELINE_FD closes without the word ``detach`` (the launcher
was killed) or says ``stop`` (it ended before the job), on SIGTERM, and at the time limit.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, ClassVar

from launchers.core.model.jobs import FAILED, LOST, RUNNING, STOPPED, TIMED_OUT
from launchers.core.model.problems import LaunchError
from launchers.core.output.lines import parse_tagged
from launchers.core.proof import Expected, Said, Verdict, verdict
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from launchers.core.records.nonce import masked
from launchers.core.shipped import runtime
from launchers.machine import processes
from launchers.machine.supervised import elsewhere
from launchers.machine.supervised.folder import JobFolder, write_whole

# What a child has between SIGTERM and SIGKILL; it ends its own processes in less.
GRACE_SECONDS = 4.0
_KILL_SECONDS = 5.0
_TREE = runtime("host.processes")  # finds and ends whatever the children have started
Child = subprocess.Popen[bytes]


class Supervisor(ABC):
    """Runs the job of one folder to its end.

    Attributes:
        provider: The name under which the ledger holds the job.
        grace_seconds: What its children have between SIGTERM and SIGKILL.
        document: The job's, as it was sent.
        expected: What its output must prove.
        children: What :meth:`work` has started, in that order.
        ending: State and reason of a job that is ended before its own end.
        started: Seconds since the epoch.
        ranks_started: The same for the ranks; None while they wait for what comes first.
    """

    provider: ClassVar[str]
    grace_seconds = GRACE_SECONDS

    def __init__(self, folder: JobFolder):
        self.folder = folder
        self.document: dict[str, Any] = json.loads(folder.definition.read_text("utf-8"))
        self.expected = self.expects(self.document)
        self.watch = self.expected.watch()
        self.ending: tuple[str, str] | None = None
        self.children: list[Child] = []
        self.started = time.time()
        self._begun = time.monotonic()  # which no change of the clock moves
        self.ranks_started: float | None = self.started
        self._selector = selectors.DefaultSelector()
        self._partial: dict[int, bytes] = {}
        self._log: IO[str] | None = None
        self._deadline = math.inf
        self._beat_at = 0.0

    @abstractmethod
    def expects(self, document: Mapping[str, Any]) -> Expected:
        """What the job's output must prove, by its document."""

    @abstractmethod
    def work(self) -> None:
        """Starts the job's processes (:meth:`follow`) and waits for them (:meth:`wait`). Blocks.

        Raises:
            OSError: One cannot be started.
        """

    @abstractmethod
    def said(self) -> Said:
        """What the children's exit codes say of a job that nobody has ended."""

    @abstractmethod
    def exit_codes(self) -> dict[str, int | None]:
        """Each child's, by a name for a person."""

    def look_at_children(self) -> None:  # noqa: B027 - most jobs have a single child
        """Called now and then while :meth:`wait` waits, and once when every child has ended; may
        start another one."""

    def signal_child(self, child: Child, number: signal.Signals) -> None:
        """Send a signal to a child that may have ended."""
        child.send_signal(number)

    def judged(self, said: Said) -> Verdict:
        """The verdict on the whole job, by what ended it and by its output."""
        return verdict(said, self.watch, self.expected)

    def run(self) -> None:
        """From the first child's start to the result in folder and ledger. Blocks."""
        _TREE.adopt_orphans()
        self._listen()
        self._record(RUNNING)
        try:
            self._log = self.folder.job_log.open(
                "a", encoding="utf-8", errors="surrogateescape", buffering=1
            )
            self.work()
        except OSError as error:
            self.end(FAILED, f"{error.strerror or error}: {error.filename or self.folder.path}")
        finally:
            self._signal_children(signal.SIGKILL)
            _TREE.end_descendants(_KILL_SECONDS)
        self._finish()

    def end(self, state: str, reason: str) -> None:
        """End the job within seconds; the first reason given is the one that stays."""
        if self.ending is None:
            self.ending = (state, reason)
            self.end_soon()
            self._signal_children(signal.SIGTERM)

    def end_soon(self) -> None:
        """From now on the children have :attr:`grace_seconds` to end by themselves."""
        self._deadline = min(self._deadline, time.monotonic() + self.grace_seconds)

    # -- the start -----------------------------------------------------------------------------

    def _listen(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self.end(STOPPED, "stopped by its user"))
        # A signal must wake the selector.
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self._selector.register(wake_read, selectors.EVENT_READ, self._drain)
        lifeline = os.environ.pop("LAUNCH_LIFELINE_FD", None)
        if lifeline is not None:
            os.set_inheritable(int(lifeline), False)
            self._selector.register(int(lifeline), selectors.EVENT_READ, self._lifeline)

    # -- while it runs -------------------------------------------------------------------------

    def follow(self, child: Child, stream: IO[bytes] | None, take: Callable[[str], None]) -> None:
        """Give ``take`` each whole line that a child writes to one of its pipes."""
        if child not in self.children:
            self.children.append(child)
        assert stream is not None
        descriptor = stream.fileno()
        os.set_blocking(descriptor, False)
        self._partial[descriptor] = b""
        self._selector.register(descriptor, selectors.EVENT_READ, lambda fd: self._read(fd, take))

    def wait(self) -> None:
        """Until every started process has ended and its output is read."""
        limit = self.document["max_runtime_seconds"]
        while self._is_at_work():
            for key, _ in self._selector.select(timeout=0.2):
                key.data(key.fd)
            if time.monotonic() > self._beat_at:
                self._beat_at = time.monotonic() + elsewhere.BEAT_SECONDS
                elsewhere.beat(self.folder)
            if limit and time.monotonic() - self._begun > limit:
                self.end(TIMED_OUT, f"it ran longer than its time limit of {limit} s")
            self.look_at_children()
            if time.monotonic() > self._deadline:
                self._signal_children(signal.SIGKILL)
                _TREE.end_descendants(_KILL_SECONDS)
        # A child closes its output before it has ended: its exit code may have come since.
        self.look_at_children()
        if self._is_at_work():
            self.wait()

    def _is_at_work(self) -> bool:
        return bool(self._partial) or any(child.poll() is None for child in self.children)

    def _read(self, descriptor: int, take: Callable[[str], None]) -> None:
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return
        lines = (self._partial[descriptor] + data).split(b"\n")
        self._partial[descriptor] = lines.pop()
        if not data:
            self._selector.unregister(descriptor)
            rest = self._partial.pop(descriptor)
            lines += [rest] if rest else []
        for line in lines:
            take(line.decode("utf-8", "surrogateescape"))

    def job_line(self, text: str) -> None:
        """A line of the job, with its tag: kept, and watched for the verdict."""
        now, known = time.time(), self.watch.proof
        self.watch.see(parse_tagged(text, now))
        self._write(f"{now:.3f} {masked(text, self.expected.nonce)}\n")
        if self.watch.proof != known:
            self._tell(lambda ledger, entry: ledger.update(entry, proof=self.watch.proof))

    def own_line(self, text: str) -> None:
        """A line of the supervisor's own."""
        self._write(f"{time.time():.3f} [launch/agent] launch: {text}\n")

    def _write(self, text: str) -> None:
        assert self._log is not None
        try:
            self._log.write(text)
        except OSError as error:
            self.end_for_want_of_room(error, self.folder.job_log)

    def end_for_want_of_room(self, error: OSError, path: Path) -> None:
        """A full disk ends the job with that reason. The reserve stays until nothing else of the
        job can take it."""
        self.end(FAILED, f"{error.strerror}: {path}")

    def _lifeline(self, descriptor: int) -> None:
        word = os.read(descriptor, 64)
        self._selector.unregister(descriptor)
        os.close(descriptor)
        if word.startswith(b"stop"):
            self.end(STOPPED, "the command that started it was interrupted")
        elif not word:
            self.end(LOST, "the command that started it was killed")

    def _drain(self, descriptor: int) -> None:
        try:
            os.read(descriptor, 4096)
        except BlockingIOError:
            return

    def _signal_children(self, number: signal.Signals) -> None:
        for child in self.children:
            if child.poll() is None:
                self.signal_child(child, number)

    # -- the end -------------------------------------------------------------------------------

    def _finish(self) -> None:
        said = Said(*self.ending, explained=True) if self.ending is not None else self.said()
        found = self.judged(said)
        result = {
            "state": found.state,
            "reason": found.reason,
            "proof": found.proof,
            "fix": found.fix,
            "result": self.watch.result,
            "failure": self.watch.failure,
            "exit_codes": self.exit_codes(),
            "started": self.ranks_started,
            "ended": time.time(),
        }
        self.folder.reserve.unlink(missing_ok=True)
        try:
            write_whole(self.folder.result, result)
        finally:
            self._record(found.state, found.reason, found.proof)
            # Last: lines that found no room would take the reserve's.
            if self._log is not None:
                with contextlib.suppress(OSError):
                    self._log.close()

    def ranks_start(self) -> None:
        """They are started now, after what came first; whoever asks is told so from now on."""
        started = self.ranks_started = time.time()
        self._tell(lambda ledger, entry: ledger.note(entry, "started", started))

    def _tell(self, change: Callable[[Ledger, Entry], None]) -> None:
        """Change the job's entry for whoever asks while it runs."""
        with contextlib.suppress(LaunchError):  # the result says it once more
            ledger = Ledger()
            entry = ledger.get(self.provider, self.document["name"])
            if entry is not None:
                change(ledger, entry)

    def _record(self, state: str, reason: str = "", proof: str = "") -> None:
        ledger = Ledger()
        entry = ledger.get(self.provider, self.document["name"])
        if entry is not None:
            details = {
                **entry.details,
                "supervisor": processes.identity(os.getpid()),
                "host": elsewhere.here(),
                "folder": str(self.folder.path),
            }
            if self.ranks_started is not None:
                details["started"] = self.ranks_started
            ledger.update(entry, state=state, reason=reason, proof=proof, details=details)


def ending_of(code: int) -> str:
    """How a process ended, by what :attr:`subprocess.Popen.returncode` says."""
    if code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"
