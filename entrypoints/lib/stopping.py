"""SIGTERM on one rank: noted at once, so that all ranks can end together with a checkpoint.

A service sends it before it takes a machine back or stops a job. What Python code does about a
signal waits until C code comes back, and a step of TensorFlow, the compilation of the first one or
a wait for another rank is C code. So the signal's number goes through a pipe
(``signal.set_wakeup_fd``) to a thread, which is never held up by those.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import sys
import threading
import time
from types import TracebackType
from typing import Any, Callable, Mapping, NoReturn

EXIT_CODE = 128 + signal.SIGTERM
# SageMaker leaves 120 s, of which the agent gives its ranks 100; where the time is known to be
# another (LAUNCH_STOP_SECONDS) that counts.
PATIENCE_SECONDS = 100.0
STOP_SECONDS = "LAUNCH_STOP_SECONDS"
_LEFT_FOR_LAST_WORDS = 0.5  # seconds of the given ones


class StopSignal:
    """Notes SIGTERM inside ``with``; outside of it SIGTERM ends the process as ever.

    The first SIGTERM is noted, for the ranks to agree on a step after which they end. A second one
    ends the process at once, and so does the end of ``patience`` after the first: a rank whose
    peers are gone or stuck reaches no step.

    Args:
        patience: Seconds.
        tell: Takes a line about why the process ends without the others.
        leave: Ends the process with an exit code, from any thread.
    """

    def __init__(
        self,
        patience: float = PATIENCE_SECONDS,
        tell: Callable[[str], None] | None = None,
        leave: Callable[[int], Any] | None = None,
    ):
        self._patience = patience
        self._tell = tell or _complain
        self._leave = leave or _leave
        self._noted = threading.Event()
        self._forks = threading.local()  # the mask of each thread that forks
        self._before: Any = None
        self._reader = self._writer = self._wakeup_before = -1

    @property
    def requested(self) -> bool:
        """Whether SIGTERM has come."""
        return self._noted.is_set()

    def __enter__(self) -> StopSignal:
        """Must be called in the main thread; elsewhere SIGTERM stays what it is."""
        if threading.current_thread() is not threading.main_thread():
            return self
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._wakeup_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._before = signal.signal(signal.SIGTERM, _nothing_more)
        os.register_at_fork(
            before=self._hold, after_in_parent=self._release, after_in_child=self._forget
        )
        threading.Thread(target=self._listen, args=(self._reader,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        where: TracebackType | None = None,
    ) -> None:
        """From now on SIGTERM does what it did before; a second call changes nothing."""
        if self._writer < 0:
            return
        signal.signal(signal.SIGTERM, self._before)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._writer)  # the thread ends with it
        self._writer = -1

    def _listen(self, reader: int) -> None:
        until: float | None = None
        while True:
            left = None if until is None else max(0.0, until - time.monotonic())
            ready, _, _ = select.select([reader], [], [], left)
            if not ready:
                self._end(f"no step has ended on all ranks {self._patience:g} s after SIGTERM")
                return
            numbers = os.read(reader, 64)
            if not numbers:
                os.close(reader)
                return
            for number in numbers:
                if number != signal.SIGTERM:
                    continue
                if self.requested:
                    self._end("SIGTERM came a second time")
                    return
                self._noted.set()
                until = time.monotonic() + self._patience

    def _end(self, why: str) -> None:
        self._tell(f"stopped at once: {why}; the checkpoints that were there are whole")
        self._leave(EXIT_CODE)

    def _hold(self) -> None:
        """While this thread forks: a signal to the child must not reach this one's pipe."""
        self._forks.mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def _release(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._forks.mask)

    def _forget(self) -> None:
        """In a forked process, whose SIGTERM is its own affair."""
        if self._writer >= 0:
            with contextlib.suppress(ValueError, OSError):
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.close(self._writer)
                self._writer = -1
        self._release()


def patience(environment: Mapping[str, str]) -> float:
    """Seconds between SIGTERM and the end by force, less what the last words take."""
    try:
        given = float(environment.get(STOP_SECONDS, ""))
    except ValueError:
        return PATIENCE_SECONDS
    if not math.isfinite(given):
        return PATIENCE_SECONDS
    return max(_LEFT_FOR_LAST_WORDS, given - _LEFT_FOR_LAST_WORDS)


def _nothing_more(number: int, frame: Any) -> None:
    """The thread has been told."""


def _complain(line: str) -> None:
    print(f"{os.path.basename(sys.argv[0])}: {line}", file=sys.stderr, flush=True)


def _leave(code: int) -> NoReturn:
    os._exit(code)
