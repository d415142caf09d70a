"""A child process in which Python looks as it does on macOS or Windows.

    python -m tests.cli.other_system PLATFORM '[["launch's", "words"], ...]'

What the launcher itself imports is imported after the change; what others wrote is there already,
as it would be on that system. Prints a JSON list of exit code, stdout and stderr.
"""

from __future__ import annotations

# Others' modules that look at the system while they are imported.
import asyncio  # noqa: F401
import contextlib
import fcntl
import io
import json
import os
import signal
import sqlite3  # noqa: F401
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
import types
import unittest.mock  # noqa: F401
import uuid  # noqa: F401
from collections.abc import Callable
from typing import Any

import click  # noqa: F401
import docker  # noqa: F401
import jinja2  # noqa: F401
import packaging.version  # noqa: F401
import pathspec  # noqa: F401
import platformdirs  # noqa: F401
import pydantic  # noqa: F401
import rich.console
import rich.progress
import rich.table  # noqa: F401
import yaml  # noqa: F401

# Python's documentation, "Availability: Unix"
UNIX_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
UNIX_OS = (
    *("chown", "fchmod", "fork", "forkpty", "getegid", "geteuid", "getgid", "getloadavg"),
    *("getpgid", "getpgrp", "getsid", "getuid", "killpg", "mkfifo", "pipe2", "posix_spawn"),
    *("pread", "register_at_fork", "sched_getaffinity", "setpgid", "setsid", "statvfs"),
    *("sysconf", "uname", "wait", "O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW"),
    *("O_NONBLOCK",),
)
UNIX_SIGNAL = (
    *("SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP"),
    *("SIGTSTP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "pthread_sigmask", "setitimer"),
)
# macOS is a Unix without these.
LINUX_OS = ("memfd_create", "pidfd_open", "pipe2", "sched_getaffinity")


class Missing:
    """Finds none of these modules, whoever asks."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def become(platform: str) -> None:
    """Makes this process one of ``platform``: ``darwin`` or ``win32``."""
    _without_proc()
    missing_os = LINUX_OS
    if platform == "win32":
        missing_os = (*LINUX_OS, *UNIX_OS)
        sys.modules["msvcrt"] = _msvcrt(fcntl.flock)
        for name in UNIX_MODULES:
            sys.modules.pop(name, None)
        sys.meta_path.insert(0, Missing(UNIX_MODULES))  # type: ignore[arg-type]
        for name in UNIX_SIGNAL:
            delattr(signal, name)
    for name in missing_os:
        with contextlib.suppress(AttributeError):
            delattr(os, name)
    sys.platform = platform


def _without_proc() -> None:
    def refusing(function: Callable[..., Any]) -> Callable[..., Any]:
        def refused(path: Any = ".", *others: Any, **named: Any) -> Any:
            if isinstance(path, str) and path.startswith("/proc"):
                raise FileNotFoundError(2, "No such file or directory", path)
            return function(path, *others, **named)

        return refused

    for name in ("listdir", "lstat", "open", "readlink"):
        setattr(os, name, refusing(getattr(os, name)))


def _msvcrt(flock: Callable[[int, int], None]) -> types.ModuleType:
    """The one function of that module that is used, with its errors."""
    module: Any = types.ModuleType("msvcrt")
    module.LK_LOCK, module.LK_NBLCK = 1, 2

    def locking(file: int, mode: int, count: int) -> None:
        flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if mode == module.LK_NBLCK else 0))

    module.locking = locking
    return module  # type: ignore[no-any-return]


def ran(words: list[str]) -> tuple[int, str, str]:
    """One command line of `launch` in this process."""
    from launchers.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.ended(words)
    return code, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    if sys.argv[1] != "linux":
        become(sys.argv[1])
    from launchers.cli import interrupts

    interrupts.listen()
    print(json.dumps([ran(words) for words in json.loads(sys.argv[2])]))
