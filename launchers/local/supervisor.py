"""The process that owns one local job: starts the hosts' agents, keeps their lines, and says how
it ended. It outlives the command that started it only where that was asked for.

    python -m launchers.local.supervisor JOB_FOLDER

It ends the job when the pipe LAUNCH_LIFELINE_FD closes without the word ``detach`` (the launcher
was killed) or says ``stop`` (it ended before the job), on SIGTERM, at the time limit, and when an
agent fails.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from launchers.core.model.jobs import FAILED, LOST, RUNNING, STOPPED, SUCCEEDED, TIMED_OUT
from launchers.core.output.lines import parse_tagged
from launchers.core.proof import Said, Verdict, expected_of, verdict
from launchers.core.records.ledger import Ledger
from launchers.core.records.nonce import masked
from launchers.core.shipped import runtime
from launchers.local.agents import start_agents, start_pip
from launchers.local.job_folder import JobFolder, write_whole
from launchers.machine import processes

# An agent gives its ranks 2 s between SIGTERM and SIGKILL; after this the supervisor does it.
_GRACE_SECONDS = 4.0
_KILL_SECONDS = 5.0
_TREE = runtime("host.processes")  # finds and ends whatever its agents have started


class Supervisor:
    """Runs the job of one folder to its end."""

    def __init__(self, folder: JobFolder):
        self.folder = folder
        self.document: dict[str, Any] = json.loads(folder.definition.read_text("utf-8"))
        self.expected = expected_of(self.document["environment"])
        self.watch = self.expected.watch()
        self.ending: tuple[str, str] | None = None
        self.agents: list[subprocess.Popen[bytes]] = []
        self.started = time.time()
        self._selector = selectors.DefaultSelector()
        self._partial: dict[int, bytes] = {}
        self._log: IO[str] | None = None
        self._agent_failed = ""
        self._deadline = math.inf

    def run(self) -> None:
        """From the first agent's start to the result in folder and ledger. Blocks."""
        _TREE.adopt_orphans()
        self._listen()
        self._record(RUNNING)
        try:
            self._log = self.folder.job_log.open(
                "a", encoding="utf-8", errors="surrogateescape", buffering=1
            )
            self._install_requirements()
            self._start_agents()
            self._loop()
        except OSError as error:
            self.end(FAILED, f"{error.strerror or error}: {error.filename or self.folder.path}")
        finally:
            self._stop_agents(signal.SIGKILL)
            _TREE.end_descendants(_KILL_SECONDS)
        self._finish()

    def end(self, state: str, reason: str) -> None:
        """End the job within seconds; the first reason given is the one that stays."""
        if self.ending is None:
            self.ending = (state, reason)
            self._deadline = min(self._deadline, time.monotonic() + _GRACE_SECONDS)
            self._stop_agents(signal.SIGTERM)

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

    def _install_requirements(self) -> None:
        file = self.document["requirements"]
        if not file:
            return
        self._own_line(f"installing {file} for this job")
        pip = start_pip(self.document, self.folder)
        self.agents.append(pip)
        self._follow(pip, lambda text: self._own_line(f"pip: {text}"))
        self._loop(finished=False)
        self.agents.remove(pip)
        if pip.returncode and self.ending is None:
            self.ending = (FAILED, f"pip could not install {file}")

    def _start_agents(self) -> None:
        if self.ending is not None:
            return
        for process in start_agents(self.document, self.folder):
            self.agents.append(process)
            self._follow(process, self._agent_line)

    # -- while it runs -------------------------------------------------------------------------

    def _follow(self, process: subprocess.Popen[bytes], take: Any) -> None:
        assert process.stdout is not None
        descriptor = process.stdout.fileno()
        os.set_blocking(descriptor, False)
        self._partial[descriptor] = b""
        self._selector.register(descriptor, selectors.EVENT_READ, lambda fd: self._read(fd, take))

    def _loop(self, finished: bool = True) -> None:
        """Until every started process has ended and its output is read."""
        limit = self.document["max_runtime_seconds"]
        while self._partial or any(process.poll() is None for process in self.agents):
            for key, _ in self._selector.select(timeout=0.2):
                key.data(key.fd)
            if limit and time.time() - self.started > limit:
                self.end(TIMED_OUT, f"it ran longer than its time limit of {limit} s")
            if finished:
                self._look_at_agents()
            if time.monotonic() > self._deadline:
                self._stop_agents(signal.SIGKILL)
                _TREE.end_descendants(_KILL_SECONDS)

    def _look_at_agents(self) -> None:
        """An agent that failed: the others know it and end by themselves; what cannot is killed."""
        for host, process in zip(self.document["hosts"], self.agents, strict=False):
            code = process.poll()
            if code and not self._agent_failed:
                self._agent_failed = self._failure_reason(host["name"], code)
                self._deadline = min(self._deadline, time.monotonic() + _GRACE_SECONDS)

    def _failure_reason(self, host: str, code: int) -> str:
        return f"{host}'s agent ended with {_ending_of(code)}"

    def _read(self, descriptor: int, take: Any) -> None:
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

    def _agent_line(self, text: str) -> None:
        now = time.time()
        self.watch.see(parse_tagged(text, now))
        self._write(f"{now:.3f} {masked(text, self.expected.nonce)}\n")

    def _own_line(self, text: str) -> None:
        self._write(f"{time.time():.3f} [launch/agent] launch: {text}\n")

    def _write(self, text: str) -> None:
        assert self._log is not None
        try:
            self._log.write(text)
        except OSError as error:
            # A full disk: make room for the result, and end the job with that reason.
            self.folder.reserve.unlink(missing_ok=True)
            self.end(FAILED, f"{error.strerror}: {self.folder.job_log}")

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

    def _stop_agents(self, number: signal.Signals) -> None:
        for process in self.agents:
            if process.poll() is None:
                process.send_signal(number)

    # -- the end -------------------------------------------------------------------------------

    def _finish(self) -> None:
        found = self._verdict()
        result = {
            "state": found.state,
            "reason": found.reason,
            "proof": found.proof,
            "fix": found.fix,
            "result": self.watch.result,
            "failure": self.watch.failure,
            "exit_codes": {
                host["name"]: process.returncode
                for host, process in zip(self.document["hosts"], self.agents, strict=False)
            },
            "started": self.started,
            "ended": time.time(),
        }
        self.folder.reserve.unlink(missing_ok=True)
        try:
            if self._log is not None:
                self._log.close()
            write_whole(self.folder.result, result)
        finally:
            self._record(found.state, found.reason, found.proof)

    def _verdict(self) -> Verdict:
        if self.ending is not None:
            said = Said(*self.ending, explained=True)
        elif self._agent_failed:
            # A rank's own failure says more than its agent's exit code.
            said = Said(FAILED, "" if self.watch.failure else self._agent_failed)
        else:
            said = Said(SUCCEEDED, words="every agent ended with 0")
        return verdict(said, self.watch, self.expected)

    def _record(self, state: str, reason: str = "", proof: str = "") -> None:
        ledger = Ledger()
        entry = ledger.get("local", self.document["name"])
        if entry is not None:
            details = {
                **entry.details,
                "supervisor": processes.identity(os.getpid()),
                "folder": str(self.folder.path),
            }
            ledger.update(entry, state=state, reason=reason, proof=proof, details=details)


def _ending_of(code: int) -> str:
    if code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def main() -> None:
    """Entry of ``python -m launchers.local.supervisor``."""
    Supervisor(JobFolder(Path(sys.argv[1]))).run()


if __name__ == "__main__":
    main()
