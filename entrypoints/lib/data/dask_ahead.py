"""Calls on Dask's workers whose results are taken in order, a bounded number of them ahead.

A call is lost with its worker and made again by Dask on another one, or by us where the scheduler
itself went away and came back; since a call's result depends on its arguments alone, nobody sees
that. What a call takes on a worker's memory is bounded by ``ahead``, too: its result is given up
there as soon as it is here, and the next call is submitted when a result has been taken.
"""

from __future__ import annotations

import queue
import threading
import time
import uuid
from collections import deque
from typing import Any, Iterable, Iterator

from ..errors import TrainingError
from .dask_connection import POLL_SECONDS, WORKERS_SECONDS, Connection

SILENT_SECONDS = 600.0  # for one result, while workers are there

_END = object()


class Ahead:
    """An iterator of the results of ``calls``, which are all of one function.

    Attributes:
        most: The largest number of calls that were submitted and not taken, so far.
    """

    def __init__(
        self,
        connection: Connection,
        function: tuple[str, str],
        calls: Iterable[tuple[Any, ...]],
        ahead: int,
        *,
        no_worker_seconds: float = WORKERS_SECONDS,
        silent_seconds: float = SILENT_SECONDS,
    ) -> None:
        """Starts; results come while the caller does something else.

        Args:
            connection: Of this iterator alone from now on; it is closed with it.
            function: Module (a path in this package) and name.
            calls: The arguments of each call; read as far as calls are submitted.
            ahead: Calls that may be submitted and not taken.
            no_worker_seconds: How long there may be no worker, or no scheduler.
            silent_seconds: How long one result may take while there are workers.
        """
        self.most = 0
        self._connection, self._function = connection, function
        self._calls = iter(calls)
        self._seconds = (no_worker_seconds, silent_seconds)
        self._run = uuid.uuid4().hex[:12]
        self._number = 0
        self._submitted: deque[tuple[int, tuple[Any, ...], Any]] = deque()
        self._free = threading.Semaphore(ahead)
        self._results: queue.Queue[Any] = queue.Queue()
        self._closed = threading.Event()
        self._taken = 0
        self._thread = threading.Thread(target=self._work, name="dask-ahead", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """The next result; blocks until it has come.

        Raises:
            TrainingError: It does not come: the call failed, or workers or scheduler are gone.
        """
        result = self._results.get()
        if result is _END or isinstance(result, BaseException):
            self._results.put(result)  # for whoever asks again
            self._closed.set()
            raise result if isinstance(result, BaseException) else StopIteration
        self._taken += 1
        self._free.release()
        return result

    def close(self) -> None:
        """Gives up what is ahead; blocks for seconds at most."""
        self._closed.set()
        self._free.release()
        self._connection.close()
        self._thread.join(timeout=10)

    def _work(self) -> None:
        try:
            self._fetch()
            self._results.put(_END)
        except TrainingError as error:
            self._results.put(error)
        except Exception as error:  # of Dask's, where it was closed meanwhile
            self._results.put(error if not self._closed.is_set() else _END)
        finally:
            self._connection.close()

    def _fetch(self) -> None:
        more = True
        while not self._closed.is_set():
            while more and self._free.acquire(blocking=not self._submitted):
                more = not self._closed.is_set() and self._submit_next()
            if not self._submitted:
                return
            number, call, future = self._submitted[0]
            result = self._result(number, call, future)
            if self._closed.is_set():
                return
            self._submitted.popleft()[2].release()
            self._results.put(result)
            del result

    def _submit_next(self) -> bool:
        try:
            call = next(self._calls)
        except StopIteration:
            return False
        self._submitted.append((self._number, call, self._submit(self._number, call)))
        self._number += 1
        self.most = max(self.most, self._number - self._taken)
        return True

    def _submit(self, number: int, call: tuple[Any, ...]) -> Any:
        return self._connection.submit(
            *self._function,
            *call,
            key=f"launch-{self._run}-{number}-{uuid.uuid4().hex[:8]}",
            priority=-number,  # of several ranks, who is behind comes first
        )

    def _result(self, number: int, call: tuple[Any, ...], future: Any) -> Any:
        from distributed import KilledWorker
        from distributed import TimeoutError as NotYet

        began = last_seen = time.monotonic()
        while not self._closed.is_set():
            try:
                return future.result(timeout=POLL_SECONDS)
            except NotYet:
                pass
            except KilledWorker as error:
                raise TrainingError(
                    f"--scheduler {self._connection.address}: several workers died while they made "
                    f"the same batch ({error.last_worker and error.last_worker.address} last), "
                    "likely for want of memory. Give them more, or use a smaller --batch-size."
                ) from error
            except Exception as error:
                if future.status == "error":
                    raise TrainingError(
                        f"--scheduler {self._connection.address}: a batch failed: "
                        f"{type(error).__name__}: {error}"
                    ) from error
                if self._closed.is_set():
                    break
                future = self._again(error)
                last_seen = time.monotonic()
                continue
            now = time.monotonic()
            if self._are_there():
                last_seen = now
            if now - last_seen > self._seconds[0]:
                raise TrainingError(
                    f"--scheduler {self._connection.address}: no worker for "
                    f"{self._seconds[0]:g} s. Start some with 'dask worker "
                    f"{self._connection.address}' and start again: a checkpoint has the position."
                )
            if now - began > self._seconds[1]:
                raise TrainingError(
                    f"--scheduler {self._connection.address}: workers are there, but a batch has "
                    f"not come in {self._seconds[1]:g} s. Look at the scheduler's page and logs."
                )
        return None

    def _are_there(self) -> bool:
        try:
            return bool(self._connection.workers())
        except Exception:  # the scheduler is gone; the future will say so
            return False

    def _again(self, error: Exception) -> Any:
        """The first future, of a new connection on which all that was submitted is, again.

        Raises:
            TrainingError: No scheduler answers.
        """
        deadline = time.monotonic() + self._seconds[0]
        while True:
            try:
                self._connection.reconnect()
                break
            except TrainingError as refused:
                if self._closed.is_set() or time.monotonic() > deadline:
                    raise TrainingError(
                        f"--scheduler {self._connection.address}: the scheduler was lost and did "
                        f"not come back in {self._seconds[0]:g} s. Start it and its workers, and "
                        "start again: a checkpoint has the position."
                    ) from refused
                time.sleep(POLL_SECONDS)
        self._submitted = deque(
            (number, call, self._submit(number, call)) for number, call, _ in self._submitted
        )
        return self._submitted[0][2]
