"""The driver's end: a job that is over leaves no process behind.

Under spark-submit this Python is a child of Spark's JVM, which hands its output on and ends by
itself with the last thread that is no daemon. After a barrier stage there is one that never does:
the timer of BarrierCoordinator (SPARK-51450; seen in 3.5.5 on a standalone master, in 3.5.8 with
``local[2]``). So the JVM is told to exit once it has handed on what was written.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import Any, Mapping, NoReturn

# PythonRunner's thread that copies this process's output (org.apache.spark.deploy, 2.x to 4.0).
_COPYING = "redirect output"
_COPY_SECONDS = 10.0
_HALT_SECONDS = 15.0
_POLL_SECONDS = 0.02


def end(session: Any, code: int) -> NoReturn:
    """Stops Spark and ends this process with ``code``; blocks for seconds.

    Called last, when everything is said and written. Another code than 0 is left to spark-submit,
    which exits with it whatever its threads do.

    Args:
        session: Spark's, or None where it never was one.
        code: The job's.
    """
    may_end = _may_end(session, code)
    jvm: Any = getattr(session, "_jvm", None)
    if session is not None:
        with contextlib.suppress(Exception):  # what is gone need not be stopped
            session.stop()
    _flush()
    if may_end:
        with contextlib.suppress(Exception):  # it ends in the middle of the call
            _hand_on_output(jvm)
            jvm.java.lang.System.exit(0)
    os._exit(code)


def give_up(session: Any, code: int) -> NoReturn:
    """The same while :func:`end` waits for a Spark that does not stop, from another thread; blocks
    for seconds."""
    # A JVM that does not even answer keeps nobody.
    last = threading.Timer(_HALT_SECONDS, os._exit, (code,))
    last.daemon = True
    last.start()
    with contextlib.suppress(Exception):
        if _may_end(session, code):
            _hand_on_output(session._jvm)
            # It has had its time: no hook of an exit may wait for Spark once more.
            session._jvm.java.lang.Runtime.getRuntime().halt(0)
    os._exit(code)


def _may_end(session: Any, code: int) -> bool:
    """Whether the JVM has to be told of the end, and may be."""
    known = code == 0 and getattr(session, "_jvm", None) is not None
    return known and owns_process(os.environ, _deploy_mode(session))


def owns_process(environment: Mapping[str, str], deploy_mode: str) -> bool:
    """Whether the JVM above this process is spark-submit's own, started for this job alone.

    Databricks' JVM is the cluster's. Where YARN runs the driver, its application master takes an
    exit for a failure (ApplicationMaster's shutdown hook), and ends the driver itself.
    """
    if "DATABRICKS_RUNTIME_VERSION" in environment:
        return False
    return "PYSPARK_GATEWAY_PORT" in environment and deploy_mode != "cluster"


def _deploy_mode(session: Any) -> str:
    # In a driver's pod on Kubernetes it is "client": there a spark-submit runs as it does here.
    with contextlib.suppress(Exception):
        return str(session.sparkContext.getConf().get("spark.submit.deployMode", "client"))
    return "client"


def _hand_on_output(jvm: Any) -> None:
    """Blocks until it has handed on all that this process has written, for seconds at most."""
    # The end of our output ends the thread that copies it, after its last line.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    deadline = time.monotonic() + _COPY_SECONDS
    while _is_copying(jvm) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)


def _is_copying(jvm: Any) -> bool:
    threads = jvm.java.lang.Thread.getAllStackTraces().keySet().iterator()
    while threads.hasNext():
        if threads.next().getName() == _COPYING:
            return True
    return False


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
