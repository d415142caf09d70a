"""What the driver hears beside its main thread, which waits in Horovod or Spark.

That is signals, the end of the JVM above it, a cluster that does not accept the application, and
a verdict after which the ranks' stage does not come back.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from typing import Any, Callable, Iterator

from launch_runtime import failures
from launch_runtime.failures import Failure
from launch_runtime.spark.acceptance import Acceptance
from launch_runtime.spark.course import Course

_LOOK_SECONDS = 0.2
# After the verdict: ranks end by themselves in about five seconds. Then Spark ends their tasks;
# then the driver goes, and whatever rank is left hears nothing any more and ends.
CANCEL_SECONDS, GIVE_UP_SECONDS = 7.0, 10.0
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Watch:
    """Looks five times a second, from a thread of its own.

    Args:
        stopped: Called with the reason, the signal's name and an exit code, when somebody has asked
            for the end; without a name, and once more, where the JVM above this process is gone.
        give_up: Called with the failure where nothing comes back from Spark.
    """

    def __init__(
        self, stopped: Callable[[str, str, int], None], give_up: Callable[[Failure], None]
    ):
        self._stopped, self._give_up = stopped, give_up
        self._acceptance: Acceptance | None = None
        self._course: Course | None = None
        self._session: Any = None
        # Under spark-submit this process is a child of its JVM.
        self._parent = os.getppid() if "PYSPARK_GATEWAY_PORT" in os.environ else 0
        self._signals, self._written = os.pipe()
        self._ignored = {number for number in _STOPS if _is_ignored(number)}  # nohup
        self._told = self._over = False

    def start(self) -> None:
        """Hears signals from now on, whoever sets handlers for them later; in the main thread."""
        for descriptor in (self._signals, self._written):
            os.set_blocking(descriptor, False)
        self.keep_handlers()
        # A signal's number is written here before any handler in Python runs: PySpark's and
        # Horovod's own come in their place later.
        signal.set_wakeup_fd(self._written, warn_on_full_buffer=False)
        threading.Thread(target=self._run, daemon=True).start()

    def keep_handlers(self) -> None:
        """Leaves signals to the thread again, whoever has set handlers meanwhile; in the main
        thread. PySpark's own raises KeyboardInterrupt there, in the middle of whatever it does."""
        for number in _STOPS:
            signal.signal(number, signal.SIG_IGN if number in self._ignored else _heed_nothing)

    @contextlib.contextmanager
    def accepted(self, acceptance: Acceptance) -> Iterator[None]:
        """Looks at the acceptance of the application while the block lasts."""
        self._acceptance = acceptance
        try:
            yield
        finally:
            self._acceptance = None

    def follow(self, course: Course, session: Any) -> None:
        """From now on there is a course, whose ranks' stage may not come back after a verdict."""
        self._session, self._course = session, course

    def let_go(self) -> None:
        """The driver ends by itself."""
        self._over = True

    def _run(self) -> None:
        decided = None
        while not self._over:
            for number in self._heard():
                self._tell(f"stopped by {failures.signal_name(number)}", number)
            if self._parent and os.getppid() != self._parent:
                self._parent = 0
                what = "stopped: the spark-submit that started this driver is gone"
                self._stopped(what, "", 128 + signal.SIGTERM)
            acceptance = self._acceptance
            refused = acceptance.look(time.monotonic()) if acceptance is not None else None
            if refused is not None:
                self._give_up(refused)
            course = self._course
            verdict = course.look(time.monotonic()) if course is not None else None
            if verdict is not None:
                decided = decided or time.monotonic()
                self._hurry(verdict, time.monotonic() - decided)

    def _heard(self) -> list[int]:
        """The signals of the last fifth of a second."""
        ready = select.select([self._signals], [], [], _LOOK_SECONDS)[0]
        numbers = os.read(self._signals, 64) if ready else b""
        return [number for number in numbers if number in _STOPS]

    def _tell(self, reason: str, number: int) -> None:
        if not self._told:
            self._told = True
            self._stopped(reason, failures.signal_name(number), 128 + number)

    def _hurry(self, verdict: Failure, since: float) -> None:
        if since > GIVE_UP_SECONDS:
            self._give_up(verdict)
        elif since > CANCEL_SECONDS and self._session is not None:
            session, self._session = self._session, None
            # Not from here: a JVM that hangs does not answer, and the driver ends all the same.
            threading.Thread(target=_cancel, args=(session,), daemon=True).start()


def _cancel(session: Any) -> None:
    with contextlib.suppress(Exception):  # Spark may be gone before
        session.sparkContext.cancelAllJobs()


def _is_ignored(number: int) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN


def _heed_nothing(*_: Any) -> None:
    """The thread has heard of it already."""
