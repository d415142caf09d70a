"""The same files from one process, a Dask cluster and a Spark cluster, whatever fails meanwhile."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import distributed
import psutil
import pytest

from entrypoints.lib.conversion import tasks
from entrypoints.lib.conversion.engines import spark
from entrypoints.lib.conversion.engines.dask import DaskEngine
from entrypoints.lib.errors import TrainingError
from tests.entrypoints.lib.conversion import places

pytestmark = pytest.mark.processes

WORK = (*places.FULL, "--rows-per-group", "16", "--copies", "1")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """96 pictures, of six tasks; one with a name that Hadoop passes over, one that is broken."""
    folder = places.make_pictures(tmp_path_factory.mktemp("pictures") / "all [1] of%20them", 96)
    first, second, *_ = sorted(folder.glob("*/*.jpg"))
    first.rename(first.with_name("_first.jpg"))
    second.write_bytes(second.read_bytes()[:200])
    return folder


@pytest.fixture(scope="module")
def expected(images: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of a conversion in one process."""
    out = tmp_path_factory.mktemp("expected")
    places.convert(images, out, *WORK)
    return places.files(out)


@pytest.fixture(autouse=True)
def leaves_no_process() -> Iterator[None]:
    """Ends what a test left, and says so."""
    before = set(psutil.Process().children(recursive=True))
    yield
    left = set(psutil.Process().children(recursive=True)) - before
    psutil.wait_procs(left, timeout=10)
    alive = [process for process in left if process.is_running()]
    for process in alive:
        process.kill()
    assert not alive


class Disturbed:
    """An engine, and what is done to it when its first task is done."""

    def __init__(self, engine: Any, disturb: Callable[[], None]) -> None:
        self._engine, self._disturb = engine, disturb

    def run(self, given: Sequence[tasks.Task]) -> Iterator[tasks.TaskRecord]:
        for number, record in enumerate(self._engine.run(given)):
            if number == 0:
                self._disturb()
            yield record

    def close(self) -> None:
        self._engine.close()


def test_dask_makes_the_same_files_though_a_worker_is_killed(
    images: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    engine = DaskEngine(None, 2)

    def kill_a_worker() -> None:
        workers = psutil.Process(engine._cluster._process.pid).children(recursive=True)
        by_memory = sorted(workers, key=lambda process: process.memory_info().rss)
        by_memory[-1].kill()

    said = places.convert(images, tmp_path / "out", *WORK, engine=Disturbed(engine, kill_a_worker))

    assert places.files(tmp_path / "out") == expected
    assert [one["path"] for one in said.of("bad")]


def test_tasks_that_a_scheduler_lets_go_of_are_given_to_it_again(
    images: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    engine = DaskEngine(None, 2)
    let_go = []

    def cancel() -> None:
        client = engine._connection._client
        undone = [key for key, state in client.futures.items() if state.status == "pending"]
        let_go.extend(undone)
        client.cancel([distributed.Future(key, client) for key in undone], force=True)

    places.convert(images, tmp_path / "out", *WORK, engine=Disturbed(engine, cancel))

    assert let_go
    assert places.files(tmp_path / "out") == expected


def test_nobody_at_the_schedulers_address_is_said_in_one_line() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"

        with pytest.raises(TrainingError, match="no Dask scheduler answers there") as caught:
            DaskEngine(address)

    assert "\n" not in str(caught.value)


class WithoutWorkers:
    """A connection to a scheduler that has no worker."""

    def __init__(self, address: str) -> None:
        self.is_open = True
        CONNECTIONS.append(self)

    def wait_for_workers(self) -> None:
        raise TrainingError("no worker in 60 s")

    def close(self) -> None:
        self.is_open = False


CONNECTIONS: list[WithoutWorkers] = []


def test_a_scheduler_without_workers_is_told_before_the_engine_has_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("entrypoints.lib.conversion.engines.dask.Connection", WithoutWorkers)
    with pytest.raises(TrainingError, match="no worker"):
        DaskEngine("tcp://127.0.0.1:1")
    assert [one.is_open for one in CONNECTIONS] == [False]


def failing_first(name: str, root: str, content: bytes) -> Callable[[Any], Any]:
    """As ``spark._call``; the Python of two tasks is killed when their work is done."""
    whole, number = spark_call(name, root, content), signal.SIGKILL

    def call(rows: Any) -> Any:
        from pyspark import TaskContext

        context = TaskContext.get()
        answers = list(whole(rows))
        if context.stageId() in (1, 3) and context.attemptNumber() == 0:
            os.kill(os.getpid(), number)
        yield from answers

    return call


spark_call = spark._call


def test_spark_makes_the_same_files_though_tasks_fail(
    images: Path, expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "_call", failing_first)
    engine = spark.SparkEngine("local-cluster[1,2,1024]")

    said = places.convert(images, tmp_path / "out", *WORK, engine=engine)

    assert places.files(tmp_path / "out") == expected
    assert [one["path"] for one in said.of("bad")]


def test_nobody_at_the_masters_address_is_said_in_one_line() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{unused.getsockname()[1]}"

        with pytest.raises(TrainingError, match="no Spark master answers there") as caught:
            spark.SparkEngine(master)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("engine", [DaskEngine, spark.SparkEngine])
def test_a_cluster_that_is_there_has_its_own_workers(engine: Any) -> None:
    with pytest.raises(TrainingError, match=r"--workers 2: .* leave --workers out"):
        engine("tcp://127.0.0.1:1", 2)
