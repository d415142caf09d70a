"""A command on a terminal of its own, of a given size, which the test can close."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
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

    def rest(self, seconds: float = 120.0) -> str:
        """All that is shown until the command has ended, without its colours.

        Raises:
            AssertionError: It did not end.
        """
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self.master], [], [], left)[0]
            assert ready, f"it goes on: {self.shown!r}"
            try:
                read = os.read(self.master, 65536)
            except OSError:  # the command has ended
                read = b""
            if not read:
                return plain(self.shown.decode())
            self.shown += read

    def type(self, text: str) -> None:
        """Keys that are pressed."""
        os.write(self.master, text.encode())

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


def plain(text: str) -> str:
    """Text as it is read on the screen: no colours, one sign for a line's end."""
    return re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")


@contextlib.contextmanager
def on_terminal(
    launch: Launch,
    *words: str,
    before: Sequence[str] = (),
    program: Sequence[str] = (),
    size: tuple[int, int] = (0, 0),
    **environment: str,
) -> Iterator[Terminal]:
    """``launch`` with ``words`` on a terminal of its own, started by the command ``before``.

    Args:
        program: What runs there instead.
        size: Columns and rows; unknown to the command where they are 0.
    """
    command = [*before, *(program or launch.command(*words))]
    variables = launch.environment({"TERM": "xterm", **environment})
    if size != (0, 0):
        variables.pop("COLUMNS", None)
    pid, master = pty.fork()
    if pid == 0:
        try:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
            os.chdir(launch.folder)
            os.execvpe(command[0], command, variables)
        finally:
            os._exit(127)
    terminal = Terminal(pid, master)
    try:
        yield terminal
    finally:
        terminal.end()
