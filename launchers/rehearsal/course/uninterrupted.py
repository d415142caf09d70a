"""Cleaning up is not given up half way because somebody presses Ctrl-C again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def uninterrupted(tell: Callable[[], None]) -> Iterator[None]:
    """Signals that ask for an end only call ``tell`` while the block runs.

    Outside the main thread, which gets no signals, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def tell_only(number: int, frame: Any) -> None:
        tell()

    before = {number: signal.signal(number, tell_only) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
