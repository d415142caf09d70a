"""A real standalone Spark cluster on loopback: a master and workers, as processes of this test."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from launch_runtime.spark.where import executor_id

from tests import processes
from tests.keras_2 import LEGACY_KERAS
from tests.waiting import until

HOST = "127.0.0.1"
_MASTER, _WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
_URL = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = "Registering worker"
_EXECUTOR = re.compile(r"CoarseGrainedExecutorBackend .*--executor-id (\d+) .*--app-id (\S+)")
_ENDING_SECONDS = 20.0
# A JVM that lives for seconds is compiled and swept no better than that: half its start's work.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Of a job on this cluster: small executors on loopback, and quick JVMs.
CONF = {
    "spark.driver.bindAddress": HOST,
    "spark.driver.extraJavaOptions": QUICK_JVM,
    "spark.driver.host": HOST,
    "spark.executor.extraJavaOptions": QUICK_JVM,
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
}
SECONDS = 420.0  # a start takes about ten, and many times that on a loaded machine


def spark_home() -> Path:
    """The Spark that PySpark's wheel brings."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def environment(own: Mapping[str, str] | None = None) -> dict[str, str]:
    """Of a process of Spark: nothing of an outer job, and loopback alone."""
    outer = ("SPARK_", "PYSPARK_", "LAUNCH_", "HOROVOD_", "PYTHONPATH", "TF_", "CUDA_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
    return {
        **kept,
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JVM,
        "SPARK_DAEMON_MEMORY": "256m",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        LEGACY_KERAS: "1",
        **(own or {}),
    }


@dataclass
class Cluster:
    """A master, and the workers that were added to it.

    Attributes:
        folder: For logs, and the executors' own folders (``worker-N``).
        url: ``spark://127.0.0.1:PORT``.
        workers: Their processes, in the order in which they were added; one that was ended stays.
    """

    folder: Path
    url: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _master: subprocess.Popen[bytes] | None = None

    def start(self, workers: int, cores: int = 1) -> None:
        """Starts the master and so many workers; blocks until they are registered."""
        self._master = self._run("master", [_MASTER, "--host", HOST, "--port", "0"], {})
        self.url = until(self._found_url, "the master's address in its log", SECONDS)
        for _ in range(workers):
            self.add_worker(cores, wait=False)
        self.await_workers(workers)

    def add_worker(
        self,
        cores: int = 1,
        *,
        wait: bool = True,
        own: Mapping[str, str] | None = None,
        conf: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """One more worker; blocks until it is registered, unless told not to ``wait``.

        Args:
            own: Variables of the worker, which its executors inherit.
            conf: Of the worker itself, such as ``spark.worker.resource.gpu.amount``.
        """
        number = len(self.workers)
        options = " ".join(f"-D{name}={value}" for name, value in (conf or {}).items())
        command = [
            *(_WORKER, self.url, "--host", HOST, "--cores", str(cores), "--memory", "2g"),
            *("--work-dir", str(self.folder / f"worker-{number}")),
        ]
        variables = {"SPARK_WORKER_OPTS": options, **(own or {})}
        worker = self._run(f"worker-{number}", command, variables)
        self.workers.append(worker)
        if wait:
            self.await_workers(number + 1)
        return worker

    def await_workers(self, count: int) -> None:
        """Blocks until so many have registered since the master started."""
        until(
            lambda: self.log("master").count(_REGISTERED) >= count,
            f"{count} workers registered at {self.url}",
            SECONDS,
        )

    def log(self, name: str) -> str:
        """What ``master`` or ``worker-N`` has written so far."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def executors(self) -> dict[int, int]:
        """The living executors of the jobs that run: number -> process."""
        found = {}
        for pid, command in processes.descendants().items():
            match = _EXECUTOR.search(command) if "java" in command.partition(" ")[0] else None
            if match:
                found[int(match[1])] = pid
        return found

    def container(self, number: int) -> list[int]:
        """The processes of a living executor, its own first: what a cluster that runs it in a
        container ends at once."""
        first = self.executors()[number]
        below = (pid for pid in processes.descendants() if executor_id(pid) == str(number))
        return [first, *(pid for pid in below if pid != first)]

    def stop(self) -> None:
        """Ends workers and master; blocks until they are gone, with what they have started."""
        started = [*self.workers, *([self._master] if self._master else [])]
        for process in started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in started:
            try:
                process.wait(_ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _run(
        self, name: str, command: list[str], own: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        with open(self.folder / f"{name}.log", "wb") as log:
            return subprocess.Popen(
                [str(spark_home() / "bin" / "spark-class"), *command, "--webui-port", "0"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=environment(own),
            )

    def _found_url(self) -> str | None:
        match = _URL.search(self.log("master"))
        assert match or self._master is None or self._master.poll() is None, self.log("master")
        return match[1] if match else None


def conf_words(conf: Mapping[str, str]) -> list[str]:
    """``conf`` as spark-submit and launch take it."""
    return [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]


def submit_command(
    master: str, conf: Mapping[str, str], program: str, *arguments: str
) -> list[str]:
    """The line of spark-submit in client mode; ``conf`` comes on top of :data:`CONF`."""
    options = conf_words({"spark.master": master, **CONF, **conf})
    return [str(spark_home() / "bin" / "spark-submit"), *options, program, *arguments]


@contextmanager
def running(folder: Path, workers: int = 2, cores: int = 1) -> Iterator[Cluster]:
    """A cluster that ends with the block, however that goes."""
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(folder)
    try:
        cluster.start(workers, cores)
        yield cluster
    finally:
        cluster.stop()
