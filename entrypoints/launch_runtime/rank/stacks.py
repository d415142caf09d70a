"""Lets the agent ask this rank for its stacks at any time, whatever the script is doing.

``faulthandler`` writes them in the handler of a signal, without the interpreter's lock: also while
C code holds that. The signal is a real-time one that nothing else uses, and it is handled in a
thread of ours alone: no call of the script is interrupted.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import threading
from typing import MutableMapping

VARIABLE = "LAUNCH_STACKS_FD"
# SIGUSR1 and SIGUSR2 are used by schedulers, by Lightning and by scripts; the first and the last
# real-time signals by debuggers and profilers.
SIGNAL = getattr(signal, "SIGRTMAX", 0) - 9


def arm(environment: MutableMapping[str, str]) -> None:
    """From now on the signal makes this process, and those that it forks, write their stacks to the
    agent's file."""
    text = environment.pop(VARIABLE, "")
    if not text.isdigit() or SIGNAL < 0:
        return
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        os.set_inheritable(int(text), False)
        faulthandler.register(SIGNAL, file=int(text), all_threads=True)
        # Threads that are started from here on, those of C libraries too, have it blocked.
        signal.pthread_sigmask(signal.SIG_BLOCK, {SIGNAL})
        threading.Thread(target=_take, name="launch-stacks", daemon=True).start()
        os.register_at_fork(after_in_child=_unblock)  # such a child has one thread


def _take() -> None:
    _unblock()
    threading.Event().wait()


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {SIGNAL})
