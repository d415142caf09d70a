"""Spark: executors read the pictures, in some stores by its binaryFile, and our writer writes them.

All executors see a folder as it is, and read it directly: by binaryFile the JVM would take cores
from the pictures, to list and open each file and to write its bytes as text for Python.

Each task is a Spark job of one partition, so that its record is known as soon as it is done, and
Spark's retries and speculation are those of one task. Our writer, and not Spark's, since that cuts
row groups by bytes.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Callable, Iterable, Iterator, Sequence

from ... import dask_code
from ...errors import TrainingError
from ..folders import is_remote
from ..tasks import Task, TaskRecord
from . import travelling
from .spark_session import SparkSession

# A larger one does not fit into a row of Spark's.
_MOST_BYTES = 1 << 30
_MOST_JOBS = 64


class SparkEngine:
    """Tasks on Spark's executors; see ``engines.Engine``."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        """Starts Spark; blocks for seconds.

        Args:
            address: Of a master: "spark://host:7077", "local[4]", "yarn"; this machine for None.
            workers: Cores of this machine.

        Raises:
            TrainingError: No PySpark or Java here, nobody there, or a master and ``workers``.
        """
        if address is not None and workers is not None:
            raise TrainingError(
                f"--workers {workers}: {address} has executors of its own; leave --workers out"
            )
        self._pool: ThreadPoolExecutor | None = None
        self._spark = SparkSession(address, workers)
        # Executors fetch from it, each when it begins.
        self._folder = tempfile.TemporaryDirectory(prefix="launch-spark-")
        try:
            self._name = self._send_code()
            self._begin_workers()
        except BaseException:
            self.close()
            raise

    def run(self, tasks: Sequence[Task]) -> Iterator[TaskRecord]:
        """The records, as tasks are done; blocks."""
        context = self._spark.context
        marks = travelling.marks_of(tasks)
        source = tasks[0].source
        by_spark = is_remote(source) and self._knows(source)
        # One more than there is work, so that the next is listed when a core is free.
        most = min(_MOST_JOBS, context.defaultParallelism + 1)
        self._pool = ThreadPoolExecutor(most, "spark")
        waiting, running = iter(tasks), set()
        for task in waiting:
            running.add(self._pool.submit(self._job, task, marks, by_spark))
            if len(running) < most:
                continue
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from self._records(done)
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from self._records(done)

    def close(self) -> None:
        """Ends its jobs, its executors and its JVM."""
        self._spark.close()
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)
        self._folder.cleanup()

    def _send_code(self) -> str:
        """This package for the executors, under the name that is given back."""
        code = dask_code.packed()
        path = os.path.join(self._folder.name, f"{code.name}.zip")
        with open(path, "wb") as file:
            file.write(code.content)
        self._spark.context.addPyFile(path)
        return code.name

    def _begin_workers(self) -> None:
        """A Python for each core, with what a task needs, before the first one. What one lacks is
        told by its first task."""
        context = self._spark.context
        cores = min(context.defaultParallelism, _MOST_JOBS)
        with contextlib.suppress(Exception):
            context.parallelize(range(cores), cores).foreachPartition(_begin(self._name))

    def _knows(self, source: str) -> bool:
        """Whether Spark has a file system for a store; else the executors read by pyarrow."""
        context = self._spark.context
        try:
            path = context._jvm.org.apache.hadoop.fs.Path(source)
            return bool(path.getFileSystem(context._jsc.hadoopConfiguration()).exists(path))
        except Exception:  # "No FileSystem for scheme", no credentials, whatever else it says
            return False

    def _job(self, task: Task, marks: travelling.Marks, by_spark: bool) -> travelling.Answer:
        content = travelling.packed(task, marks)
        rows = self._rows(task) if by_spark else None
        if rows is None:
            rows = self._spark.context.parallelize([], 1)
        (answer,) = rows.mapPartitions(_call(self._name, task.source, content)).collect()
        return (str(answer[0]), str(answer[1]))

    def _rows(self, task: Task) -> Any:
        """(path, base64 of the content) of the task's pictures in one partition; None where Spark
        refuses."""
        reader = self._spark.session.read.format("binaryFile").option("__globPaths__", "false")
        paths = [
            f"{task.source}/{picture.path}"
            for picture in task.pictures
            if picture.bytes < _MOST_BYTES and _is_plain(picture.path)
        ]
        if not paths:
            return None
        try:
            # Bytes themselves PySpark would write as text, a character each, and turn back.
            rows = reader.load(paths).selectExpr("path", "base64(content)")
            return rows.coalesce(1).rdd
        except Exception as error:
            # A file is gone or has a name that Hadoop does not take: our reader says which.
            if type(error).__name__ in ("AnalysisException", "IllegalArgumentException"):
                return None
            raise

    def _records(self, done: Iterable[Future[travelling.Answer]]) -> Iterator[TaskRecord]:
        for future in done:
            try:
                answer = future.result()
            except Exception as error:
                raise TrainingError(f"--master {self._spark.master}: {why(error)}") from error
            yield travelling.record(answer)


def why(error: BaseException) -> str:
    """One line of what Spark says over many."""
    text = str(getattr(error, "java_exception", None) or error)
    if "PYTHON_VERSION_MISMATCH" in text or "different version" in text:
        return (
            "the executors' Python has another minor version than this one; expected the same; "
            "name it: export PYSPARK_PYTHON=PATH"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception"))]
    own = [line for line in said if not line.startswith(("org.apache.spark", "py4j"))]
    picked = (own or said or lines or [type(error).__name__])[0 if not own else -1]
    return f"a Spark task failed: {picked[:300]}"


def _is_plain(path: str) -> bool:
    """Whether Hadoop gives the file under this very name; it leaves out "_a" and ".b"."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return not any(part.startswith(("_", ".")) for part in path.split("/"))


def _begin(name: str) -> Callable[[Any], None]:
    """What makes an executor's Python import all that a task needs and it has."""

    def begin(_: Any) -> None:
        import contextlib
        import importlib

        with contextlib.suppress(ImportError):
            for module in (f"{name}.conversion.work", "pyarrow.parquet", "PIL.Image"):
                importlib.import_module(module)

    return begin


def _call(name: str, root: str, content: bytes) -> Callable[[Any], Any]:
    """What an executor's Python calls; a function in a function, so that Spark sends it whole."""

    def call(rows: Any) -> Any:
        import binascii
        import importlib

        module = importlib.import_module(f"{name}.conversion.engines.travelling")
        delivered = (
            (row[0].split(root, 1)[-1].lstrip("/"), binascii.a2b_base64(row[1])) for row in rows
        )
        yield module.perform_delivered(content, delivered)

    return call
