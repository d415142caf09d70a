"""A Spark application of this process: its JVM, its master and executors, and their end."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from typing import Any, Mapping
from urllib.parse import urlsplit

from ...errors import TrainingError
from . import java
from .process import usable_cores

CONNECT_SECONDS, EXECUTORS_SECONDS, END_SECONDS = 10.0, 90.0, 15.0
POLL_SECONDS = 0.2
# A task is tried so often; in local mode it is part of the master's name.
TRIES = 4
# A JVM that carries bytes to Python has nothing to compile for speed, and little to collect: its
# compilers and collectors would take the cores from the pictures.
_LIGHT_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


class SparkSession:
    """The application.

    Attributes:
        master: As Spark writes it.
        context, session: PySpark's.
    """

    def __init__(self, master: str | None, workers: int | None) -> None:
        """Starts a JVM and connects to ``master``; blocks until there is an executor.

        Raises:
            TrainingError: No PySpark, no Java that it runs on, nobody at ``master``, no executor.
        """
        if find_spec("pyspark") is None:
            raise TrainingError(
                "--engine spark: this Python has no PySpark; expected the package pyspark 3.5; "
                "install the launcher's extra 'spark'"
            )
        import pyspark

        java.require(pyspark.__version__)
        self.master = master or f"local[{workers or usable_cores()},{TRIES}]"
        self._local = self.master.startswith("local")
        _reach(self.master)
        self._interrupt = signal.getsignal(signal.SIGINT)
        self._log = tempfile.TemporaryFile("w+b")  # noqa: SIM115
        self._gateway: Any = None
        self.context: Any = None
        try:
            self._start()
            self._wait_for_executors()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession as Session

        settings = {
            "spark.app.name": "launch data parquet",
            "spark.log.level": "ERROR",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            # A file that went away since it was listed is a bad picture, as on other engines.
            "spark.sql.files.ignoreMissingFiles": "true",
            # Listed once more by the driver: a job a task for that would cost more.
            "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000000",
        }
        if self._local:
            settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = "127.0.0.1"
            for role in ("driver", "executor"):
                settings[f"spark.{role}.defaultJavaOptions"] = _LIGHT_JVM
            settings.update(_cluster_on_this_machine(self.master))
        conf = SparkConf().setMaster(self.master)
        for name, value in settings.items():
            conf.set(name, value)
        with _environment({"PYSPARK_PYTHON": sys.executable} if self._local else {}):
            try:
                output = {"stdout": self._log, "stderr": self._log}
                self._gateway = launch_gateway(conf, popen_kwargs=output)
                self.context = SparkContext(gateway=self._gateway, conf=conf)
                self.session = Session(self.context)
            except Exception as error:
                raise TrainingError(
                    f"--master {self.master}: Spark did not start: {self._why(error)}"
                ) from error

    def _wait_for_executors(self) -> None:
        """In local mode the driver is the executor."""
        if re.match(r"local(\[|$)", self.master):
            return
        deadline = time.monotonic() + EXECUTORS_SECONDS
        state = self.context._jsc.sc()
        while state.getExecutorMemoryStatus().size() < 2:
            if state.isStopped() or time.monotonic() > deadline:
                raise TrainingError(
                    f"--master {self.master}: no executor in {EXECUTORS_SECONDS:g} s; expected a "
                    "worker with a free core and memory that reaches this machine: see the "
                    "master's page, and spark.executor.memory"
                )
            time.sleep(POLL_SECONDS)

    def _why(self, error: BaseException) -> str:
        """One line: the JVM's, where it said why, else Python's."""
        self._log.seek(0)
        said = self._log.read().decode("utf-8", "replace").splitlines()
        causes = [one for one in said if re.search(r"(Exception|Error)\b", one)]
        line = causes[0] if causes else (str(error).strip().splitlines() or [repr(error)])[0]
        return line.strip()[:300]

    def close(self) -> None:
        """Ends jobs, executors and the JVM; doesn't raise."""
        context, self.context = self.context, None
        gateway, self._gateway = self._gateway, None
        if context is not None:
            with contextlib.suppress(Exception):
                context.cancelAllJobs()
            with contextlib.suppress(Exception):
                context.stop()
        if gateway is not None:
            _end(gateway)
            _forget(gateway)
        with contextlib.suppress(ValueError):  # only the main thread may
            signal.signal(signal.SIGINT, self._interrupt)
        self._log.close()


def _end(gateway: Any) -> None:
    """The JVM ends when its standard input does; what doesn't is killed."""
    with contextlib.suppress(Exception):
        gateway.shutdown()
    process: subprocess.Popen[bytes] = gateway.proc
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(timeout=END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _forget(gateway: Any) -> None:
    """PySpark keeps the first gateway of a process; the next engine starts one of its own."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession as Session

    if SparkContext._gateway is gateway:
        SparkContext._gateway = SparkContext._jvm = None
    Session._instantiatedSession = None


def _reach(master: str) -> None:
    """Raises where nobody listens at spark://HOST:PORT; Spark itself would try for a minute."""
    if not master.startswith("spark://"):
        return
    problem = ""
    for one in master[len("spark://") :].split(","):
        try:
            address = urlsplit(f"spark://{one}")
            where = (address.hostname or "", address.port or 7077)
            socket.create_connection(where, timeout=CONNECT_SECONDS).close()
            return
        except (OSError, ValueError) as error:
            problem = str(error)
    raise TrainingError(
        f"--master {master}: no Spark master answers there ({problem}); check address, port and "
        "firewall, or leave --master out to use this machine's cores"
    )


def _cluster_on_this_machine(master: str) -> Mapping[str, str]:
    """What local-cluster[...] needs: its executors are given no more memory than it has."""
    found = re.fullmatch(r"local-cluster\[\d+,\s*\d+,\s*(\d+)\]", master)
    return {"spark.executor.memory": f"{found.group(1)}m"} if found else {}


@contextlib.contextmanager
def _environment(wanted: Mapping[str, str]) -> Any:
    """What the environment lacks of ``wanted``, for a while."""
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
