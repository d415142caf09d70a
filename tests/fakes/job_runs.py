"""Jobs of the fake service that run for real: a thread each, fed by a runner."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from queue import Queue
from typing import Any

from tests.fakes.clock import Clock
from tests.fakes.job_course import Course
from tests.fakes.job_scenarios import Runner, Verdict

# Seconds that a runner has to end once it was told to.
_PATIENCE = 60.0


class JobRuns:
    """Starts the runners of jobs that have one, and takes their lines and ends.

    Args:
        verdict: What a runner that gives no verdict is taken to have said.
    """

    def __init__(self, clock: Clock, lock: threading.RLock, verdict: type[Verdict] = Verdict):
        self._clock, self._lock, self._verdict = clock, lock, verdict
        self._threads: list[threading.Thread] = []

    def start(self, job: Course) -> None:
        """Run the job, if it has a runner. The caller holds the lock."""
        if job.scenario.runner is None:
            return
        job.held = True
        job.begin(self._clock.now())
        thread = threading.Thread(target=self._run, args=(job, job.scenario.runner), daemon=True)
        self._threads.append(thread)
        thread.start()

    def close(self, jobs: Sequence[Course]) -> None:
        """Stop every runner and wait until it has ended."""
        for job in jobs:
            if job.held:
                job.stop_asked.set()
        for thread in self._threads:
            thread.join(_PATIENCE)

    def _run(self, job: Course, runner: Runner) -> None:
        try:
            verdict = self._hear(job, runner)
        except Exception as error:
            reason = f"InternalServerError: the runner failed: {error!r}"
            verdict = self._verdict(self._verdict.failure, reason)
        with self._lock:
            job.conclude(verdict, self._clock.now())
            job.held = False

    def _hear(self, job: Course, runner: Runner) -> Verdict:
        lines = runner(job.document, job.stop_asked)
        while True:
            try:
                host, text = next(lines)
            except StopIteration as end:
                return end.value if isinstance(end.value, self._verdict) else self._verdict()
            with self._lock:
                job.line(host, text, self._clock.now())


# Says each line to the function that it gets, and returns the end.
Teller = Callable[[Mapping[str, Any], threading.Event, Callable[[str, str], None]], Verdict]


def runner_of(tell: Teller) -> Runner:
    """A runner from a function that calls back with each line, as the rehearsal does.

    Example:
        >>> def tell(document, stop, line):
        ...     line("algo-1", "hello")
        ...     return Verdict()
        >>> list(runner_of(tell)({}, threading.Event()))
        [('algo-1', 'hello')]
    """

    def run(
        document: Mapping[str, Any], stop: threading.Event
    ) -> Generator[tuple[str, str], None, Verdict]:
        said: Queue[tuple[str, str] | Verdict | BaseException] = Queue()

        def work() -> None:
            try:
                said.put(tell(document, stop, lambda host, text: said.put((host, text))))
            except BaseException as error:
                said.put(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        while True:
            item = said.get()
            if isinstance(item, tuple):
                yield item
                continue
            thread.join()
            if isinstance(item, BaseException):
                raise item
            return item

    return run
