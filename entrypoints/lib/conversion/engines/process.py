"""The cores of this machine: worker processes that end with the one that started them."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Iterator, Sequence

from ...errors import TrainingError
from ..tasks import Task, TaskRecord
from ..work import perform

_PR_SET_PDEATHSIG = 1  # Linux, prctl(2)
_KILLED = (
    "a worker process was killed, as a machine does that runs out of memory; give the same command "
    "with fewer than {} --workers, and it goes on"
)


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ProcessEngine:
    """Worker processes; see ``engines.Engine``."""

    def __init__(self, address: None = None, workers: int | None = None) -> None:
        self.workers = workers or usable_cores()
        # Not forked: what the parent's threads hold at that moment would be held for ever.
        context = multiprocessing.get_context("spawn")
        lifeline, self._lifeline = context.Pipe(duplex=False)
        self._pool: Any = ProcessPoolExecutor(
            self.workers, context, _begin, (os.getpid(), lifeline, context.Barrier(self.workers))
        )
        # All start at once, and none has begun before all can: then they wait for tasks.
        started = [self._pool.submit(int) for _ in range(self.workers)]
        try:
            for future in started:
                future.result()
        except BaseException as error:
            self.close()
            if isinstance(error, BrokenProcessPool):
                raise TrainingError(_KILLED.format(self.workers)) from error
            raise

    def run(self, tasks: Sequence[Task]) -> Iterator[TaskRecord]:
        """The records, as tasks are done; blocks."""
        running: set[Future[TaskRecord]] = set()
        try:
            for task in tasks:
                running.add(self._pool.submit(perform, task))
                if len(running) <= self.workers:  # one more than work, so that none waits
                    continue
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        except BrokenProcessPool as error:
            raise TrainingError(_KILLED.format(self.workers)) from error

    def close(self) -> None:
        """Ends the workers at once; what they had unfinished is done again by the next run."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        workers = list((pool._processes or {}).values())
        for worker in workers:
            if worker.is_alive():
                worker.kill()
        pool.shutdown(wait=True)
        for worker in workers:
            worker.join()


def _begin(parent: int, lifeline: Any, all_began: Any) -> None:
    """In a worker: ends with its parent, leaves Ctrl-C to it, and takes one core."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    import PIL.Image
    import pyarrow
    import pyarrow.parquet

    PIL.Image.init()
    pyarrow.set_cpu_count(1)
    all_began.wait()


def _end_with(lifeline: Any) -> None:
    """Where the kernel doesn't do it: the pipe closes when the parent is gone."""
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)
