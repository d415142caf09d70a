"""Waiting for what another process does, with a deadline and without a fixed sleep."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def until(what: str, ask: Callable[[], T | None], seconds: float = 120.0) -> T:
    """The first true answer of ``ask``.

    Raises:
        AssertionError: None came in ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"no sign of it in {seconds} s: {what}")


def processes_with(word: str) -> list[int]:
    """The living processes (zombies aside) that have ``word`` in their environment or command."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) == os.getpid():
            continue
        try:
            text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if text and word.encode() in text:
            found.append(int(entry.name))
    return found
