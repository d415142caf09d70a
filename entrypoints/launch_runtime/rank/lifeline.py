"""Ends a rank when the agent that started it is gone, however it went."""

from __future__ import annotations

import os
import select
import signal
import threading

try:
    import fcntl
except ImportError:  # no Unix
    fcntl = None  # type: ignore[assignment]

_F_SETSIG = 10  # Linux, fcntl(2)


def arm(lifeline: int) -> None:
    """From now on this process group is killed when the other end of a pipe is closed.

    The kernel does it (a signal-driven descriptor whose signal is SIGKILL and whose owner is the
    group): there is no thread that the script could see, or keep from running. It holds as long
    as the descriptor is open, also after an ``exec``.

    Args:
        lifeline: The read end of a pipe of this rank's own, whose write end the agent has.
    """
    leads = os.getpgrp() == os.getpid()
    try:
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp() if leads else os.getpid())
        fcntl.fcntl(lifeline, _F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
    except (OSError, AttributeError):
        # Not Linux, or a sandbox without these calls.
        threading.Thread(target=_wait, args=(lifeline, leads), daemon=True).start()
        return
    if select.select([lifeline], [], [], 0)[0]:
        _end(leads)  # it was closed before the kernel knew


def _wait(lifeline: int, leads: bool) -> None:
    os.read(lifeline, 1)
    _end(leads)


def _end(leads: bool) -> None:
    if leads:
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
