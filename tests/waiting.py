"""Waiting for what others do: until it has come true, within a time that a busy machine keeps."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
SECONDS = 120.0


def until(
    condition: Callable[[], T | None],
    what: str | Callable[[], str] = "",
    seconds: float = SECONDS,
) -> T:
    """Polls until ``condition`` is true and gives its value.

    Args:
        what: It in words, or what gives these once it is too late.

    Raises:
        AssertionError: It was not in ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            told = what() if callable(what) else what
            raise AssertionError(f"{told or condition} did not come true within {seconds} s")
        time.sleep(0.02)
    return value


def processes_with(word: str) -> dict[int, str]:
    """The living processes (zombies aside, and this one) that have ``word`` in their environment
    or command: number and command line."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
            text = (entry / "environ").read_bytes() + command
        except OSError:
            continue
        if text and word.encode() in text and int(entry.name) != os.getpid():
            found[int(entry.name)] = command.decode()
    return found
