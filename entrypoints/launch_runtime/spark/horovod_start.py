"""Starts the ranks of a Horovod job by ``horovod.spark.run``.

Always with the number of ranks, which Horovod would else take from however many executors have
registered by then; with the executors' Python, for which it would take the driver's path; with the
ranks' environment by name, since nothing of the driver's own reaches them; with the network
interface where one name is right on all hosts: else each task tries all addresses of another one,
those of bridges of containers among them, which may come and go meanwhile. Sources:
horovod/spark/runner.py, gloo_run.py and task/ (0.28.1).

Its services listen on all interfaces of driver and executors. Those that start and watch ranks
check each message with a key that is drawn for the job; Spark carries that key to the executors
with the task: in the clear, unless spark.network.crypto.enabled or SSL is on. The store by which
ranks meet (horovod/runner/http/http_server.py, on the driver) checks nothing: the network of driver
and executors has to be closed to strangers.
"""

from __future__ import annotations

import contextlib
import re
import threading
from typing import Any, Callable, Mapping

from launch_runtime.spark import shipped
from launch_runtime.spark.settings import SparkJob

_TAG = re.compile(r"\[(\d+)\]<std(?:out|err)>:(.*)")


class Remarks:
    """What Horovod's own processes write on the executors: before a rank's first line and after its
    last, since ranks bring their lines themselves. A stream as ``horovod.spark.run`` takes one,
    from whose threads each rank's output comes in pieces.

    Args:
        source: Stands before each line: it cannot be taken for one of the driver's own, since
            nothing says who has written it.
        say: Takes a line.
    """

    def __init__(self, source: str, say: Callable[[str], None]):
        self._source, self._say = source, say
        self._lock = threading.Lock()
        # What has no end yet, by the thread that brings it.
        self._rests: dict[threading.Thread, str] = {}

    def write(self, text: str) -> None:
        """Text with any number of lines, cut anywhere."""
        with self._lock:
            writer = threading.current_thread()
            *whole, rest = (self._rests.pop(writer, "") + text).split("\n")
            for line in whole:
                self._tell(line)
            if rest:
                self._rests[writer] = rest

    def flush(self) -> None:
        """Nothing is kept that is whole."""

    def close(self) -> None:
        """Says what has come without an end of line."""
        with self._lock:
            rests, self._rests = self._rests, {}
            for rest in rests.values():
                self._tell(rest)

    def _tell(self, line: str) -> None:
        found = _TAG.match(line)
        words = f"task {found[1]}: {found[2]}" if found else line
        if (found[2] if found else line).strip():
            self._say(f"{self._source}: {words}")


def run(
    job: SparkJob,
    payload: Mapping[str, Any],
    executable: str,
    interface: str,
    say: Callable[[str], None],
) -> list[Any]:
    """What each rank gave, in the order of the ranks; None for one that ended before it could.

    Blocks until all ranks have ended. Has to be called in the main thread, whose handlers of SIGINT
    and SIGTERM Horovod replaces.

    Args:
        payload: For each rank (:func:`launch_runtime.spark.rank_host.run`).
        executable: The executors' Python.
        interface: The network interface of driver and executors, "" where Horovod has to find it.
        say: Takes what Horovod's own processes write.

    Raises:
        Exception: Horovod's or Spark's, where ranks could not be started, or were lost.
    """
    from horovod import spark as horovod_spark

    with contextlib.closing(Remarks("horovod", say)) as remarks:
        found: list[Any] = horovod_spark.run(
            shipped.call,
            args=(list(job.folders), "rank_host", "run_horovod", dict(payload)),
            num_proc=job.settings.ranks,
            start_timeout=int(job.start_seconds),
            use_gloo=True,
            # An executor has merged its own with Spark's folders.
            env={name: value for name, value in job.environment.items() if name != "PYTHONPATH"},
            stdout=remarks,
            stderr=remarks,
            verbose=0,
            nics={interface} if interface else None,
            executable=executable or None,
        )
    return found
