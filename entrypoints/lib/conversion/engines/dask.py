"""A Dask cluster: this machine's cores by default, or whatever a scheduler has for workers."""

from __future__ import annotations

import queue
import time
from collections import Counter
from importlib.util import find_spec
from typing import Any, Iterator, Sequence

from ...data.dask_cluster import LocalCluster
from ...data.dask_connection import WORKERS_SECONDS, Connection
from ...errors import TrainingError
from ..tasks import Task, TaskRecord
from . import NotGivenOutError, travelling
from .process import usable_cores

_HERE = "conversion.engines.travelling"
# How often a task is given again to a scheduler that answers and has let go of it.
_RESUBMISSIONS = 5
# How long a scheduler may not answer before the run ends; how often it is looked at meanwhile.
LOST_SECONDS, POLL_SECONDS = 20.0, 1.0


class DaskEngine:
    """Tasks on Dask's workers; see ``engines.Engine``.

    The scheduler gives a lost worker's tasks to others; done twice, a task gives the same files.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        """Starts a local cluster, or connects, and waits for a worker; blocks for seconds.

        Args:
            address: Of a scheduler, as Dask writes it: "tcp://host:8786", "tls://...".
            workers: Processes of the local cluster.

        Raises:
            TrainingError: No Dask here, no scheduler there, none that has a worker, or both a
                scheduler and ``workers``.
        """
        if find_spec("distributed") is None:
            raise TrainingError(
                "--engine dask: this Python has no Dask; expected the package dask[distributed]; "
                "install the launcher's extra 'dask'"
            )
        if address is not None and workers is not None:
            raise TrainingError(
                f"--workers {workers}: {address} has workers of its own; leave --workers out"
            )
        self._cluster: LocalCluster | None = None
        if address is None:
            try:
                self._cluster = LocalCluster(workers or usable_cores())
            except (RuntimeError, OSError) as error:
                raise TrainingError(f"--engine dask: no local cluster: {error}") from error
        self.address = address or self._cluster.address  # type: ignore[union-attr]
        try:
            self._connection = Connection(self.address)
            self._connection.wait_for_workers()
        except BaseException:
            self.close()
            raise

    def run(self, tasks: Sequence[Task]) -> Iterator[TaskRecord]:
        """The records, as tasks are done; blocks."""
        marks = travelling.marks_of(tasks)
        try:
            self._connection.check(_HERE, "look", marks.as_dict())
        except TrainingError as error:
            raise NotGivenOutError(str(error)) from error
        done: queue.Queue[tuple[int, Any]] = queue.Queue()
        futures: dict[int, Any] = {}  # the newest of each task: Dask drops what nobody holds

        def listen(number: int, future: Any) -> None:
            futures[number] = future
            future.add_done_callback(lambda ended: done.put((number, ended)))

        def submit(number: int) -> None:
            packed = travelling.packed(tasks[number], marks)
            listen(number, self._connection.submit(_HERE, "perform", packed, priority=-number))

        for number in range(len(tasks)):
            submit(number)
        lookout = _Lookout(self._connection)
        again: Counter[int] = Counter()
        left = len(futures)
        while left:
            number, future = lookout.next(done)
            if future.status == "pending":  # it was done by a worker that is gone: it is done again
                listen(number, future)
                continue
            if future.status not in ("finished", "error") and self._connection.is_connected():
                # A worker was lost with it, and the scheduler has let go of the task.
                again[number] += 1
                if again[number] <= _RESUBMISSIONS:
                    submit(number)
                    continue
            left -= 1
            yield travelling.record(self._answer(future))

    def close(self) -> None:
        """Gives up what is not done, and ends the local cluster."""
        connection, self._connection = getattr(self, "_connection", None), None  # type: ignore[assignment]
        if connection is not None:
            connection.close()
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.close()

    def _answer(self, future: Any) -> travelling.Answer:
        if future.status == "finished":
            answer: travelling.Answer = future.result()
            return answer
        if future.status != "error":
            raise _scheduler_lost(self.address)
        error = future.exception()
        if type(error).__name__ == "KilledWorker":
            raise TrainingError(
                f"--engine dask: one task ended {error.allowed_failures + 1} workers, as a worker "
                "ends that has too little memory; give workers more, or a smaller --file-size "
                "into another OUT"
            )
        said = (str(error).strip().splitlines() or [""])[0]
        raise TrainingError(f"--engine dask: a worker failed: {type(error).__name__}: {said}")


class _Lookout:
    """Waits for a future to be done, and sees where none will be."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._heard = self._worked = time.monotonic()

    def next(self, done: queue.Queue[tuple[int, Any]]) -> tuple[int, Any]:
        """The next of ``done``; blocks while there is a scheduler with workers."""
        while True:
            try:
                found = done.get(timeout=POLL_SECONDS)
            except queue.Empty:
                self._look()
            else:
                self._heard = self._worked = time.monotonic()
                return found

    def _look(self) -> None:
        now = time.monotonic()
        if self._connection.is_connected():
            self._heard = now
            if self._connection.workers():
                self._worked = now
        if now - self._heard > LOST_SECONDS:
            raise _scheduler_lost(self._connection.address)
        if now - self._worked > WORKERS_SECONDS:
            raise TrainingError(
                f"--scheduler {self._connection.address}: its workers are gone, and none came back "
                f"in {WORKERS_SECONDS:g} s; start some, then run the same command to resume"
            )


def _scheduler_lost(address: str) -> TrainingError:
    return TrainingError(
        f"--scheduler {address}: the scheduler is gone; start it again, and the same command goes "
        "on"
    )
