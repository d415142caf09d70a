"""A command on a terminal of its own, which the test can close."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.cli.command import Launch


@dataclass
class Terminal:
    """The command leads the session of a pseudo-terminal, as a login shell's foreground does."""

    pid: int
    master: int
    shown: bytes = b""
    _code: int | None = field(default=None)

    def wait_for(self, marker: bytes, seconds: float = 120.0) -> None:
        """Read what is shown until ``marker`` stands there.

        Raises:
            AssertionError: It did not come.
        """
        deadline = time.monotonic() + seconds
        while marker not in self.shown:
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self.master], [], [], left)[0]
            assert ready, f"no {marker!r} in {self.shown!r}"
            try:
                self.shown += os.read(self.master, 65536)
            except OSError:  # the command has ended
                raise AssertionError(f"ended without {marker!r}: {self.shown!r}") from None

    def close(self) -> None:
        """The window is closed: the kernel hangs the terminal up."""
        os.close(self.master)
        self.master = -1

    def code(self, seconds: float = 60.0) -> int:
        """The exit code, once it has ended."""
        deadline = time.monotonic() + seconds
        while self._code is None and time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
            else:
                time.sleep(0.02)
        assert self._code is not None, "it did not end"
        return self._code

    def end(self) -> None:
        """Whatever the test came to: nothing of the command is left."""
        if self._code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self._code = -signal.SIGKILL
        if self.master >= 0:
            self.close()


@contextlib.contextmanager
def on_terminal(
    launch: Launch, *words: str, before: Sequence[str] = (), **environment: str
) -> Iterator[Terminal]:
    """``launch`` with ``words`` on a terminal of its own, started by the command ``before``."""
    command = [*before, *launch.command(*words)]
    variables = launch.environment({"TERM": "xterm", **environment})
    pid, master = pty.fork()
    if pid == 0:
        try:
            os.chdir(launch.folder)
            os.execvpe(command[0], command, variables)
        finally:
            os._exit(127)
    terminal = Terminal(pid, master)
    try:
        yield terminal
    finally:
        terminal.end()
