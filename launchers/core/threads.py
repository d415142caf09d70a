"""Threads for what may be done at the same time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread


def begun(work: Callable[[], None]) -> Thread | None:
    """The thread that does ``work``; None where the user may have no more of them (ulimit -u), and
    it has been done here. A daemon: who interrupts waits for nothing that does not answer."""
    thread = Thread(target=work, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        work()
        return None
    return thread
