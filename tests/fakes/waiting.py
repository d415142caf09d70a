"""Waiting for what happens in another thread or process, with an end to it."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(happened: Callable[[], bool], seconds: float = 30.0) -> None:
    """Ask again and again until ``happened()``; AssertionError after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        time.sleep(0.01)
