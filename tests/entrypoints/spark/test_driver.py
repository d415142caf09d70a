"""How the driver program ends where no rank has begun."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from launch_runtime import stamps
from launch_runtime.spark import driver

from tests.entrypoints.spark import fake_pyspark
from tests.entrypoints.spark.made import session
from tests.entrypoints.spark.test_course import Table
from tests.places import ENTRYPOINTS, ROOT
from tests.waiting import SECONDS, until

pytestmark = pytest.mark.processes

NONCE = "0123456789abcdef0123456789abcdef"
CONF = {
    "spark.executorEnv.LAUNCH_WORLD_SIZE": "2",
    "spark.executorEnv.LAUNCH_INSTANCES": "2",
    "spark.executorEnv.LAUNCH_PROCESSES": "1",
    "spark.executorEnv.LAUNCH_REMINDER_SECONDS": "0.01",
    "spark.launch.slots.seconds": "3600",
}


@contextmanager
def running(
    folder: Path, how: str, **conf: str
) -> Iterator[tuple[subprocess.Popen[bytes], Path, Path]]:
    """A driver on a PySpark that does so; its output and its errors, which are files."""
    (folder / "src").mkdir()
    (folder / "src" / "train.py").write_text("")
    for name in ("spark_driver.py", "guard.py"):
        shutil.copy(ENTRYPOINTS / name, folder / name)
    (folder / "launch_runtime").symlink_to(ENTRYPOINTS / "launch_runtime")
    command = fake_pyspark.write(folder, folder)
    told = {**CONF, "spark.launch.result": str(folder / "result.json"), **conf}
    environment = {
        **os.environ,
        "FAKE_SPARK": how,
        "LAUNCH_NONCE": NONCE,
        "FAKE_CONF": json.dumps(told),
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
    }
    output, errors = folder / "output", folder / "errors"
    with open(output, "wb") as out, open(errors, "wb") as err:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=err)
    try:
        yield process, output, errors
    finally:
        process.kill()
        process.wait()


def result(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


def test_a_cluster_that_does_not_accept_the_application_is_told_and_given_up(
    tmp_path: Path,
) -> None:
    limit = {"spark.launch.slots.seconds": "3"}
    with running(tmp_path, "silent", **limit) as (process, output, _):
        assert process.wait(SECONDS) == 1
    assert "launch: waiting for the cluster to accept the application; up to " in output.read_text()
    found = result(tmp_path)
    assert found["reason"] == "the cluster has not accepted the application within 3 s"
    assert "--limit slots=TIME" in found["fix"]


@pytest.mark.parametrize("how", ["empty", "interrupted", "silent"])
def test_an_interrupt_is_the_verdict_whatever_handler_pyspark_has_set(
    tmp_path: Path, how: str
) -> None:
    with running(tmp_path, how) as (process, output, errors):
        if how != "interrupted":
            until(lambda: "launch: waiting for " in output.read_text(), "the wait")
            process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
    assert errors.read_text() == ""
    assert output.read_text().count("launch: failure: ") == 1
    found = result(tmp_path)
    assert (found["reason"], found["exit_code"]) == ("stopped by SIGINT", 130)


def test_a_driver_ends_though_it_cannot_say_how(tmp_path: Path) -> None:
    with running(tmp_path, "empty", **{"spark.launch.result": "no\0path"}) as (process, output, _):
        until(lambda: "launch: waiting for " in output.read_text(), "the wait")
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 143


def test_a_refusal_before_there_is_a_job_carries_the_jobs_stamp(tmp_path: Path) -> None:
    size = {"spark.executorEnv.LAUNCH_WORLD_SIZE": "3"}
    with running(tmp_path, "empty", **size) as (process, _, _):
        assert process.wait(SECONDS) == 1
    found = result(tmp_path)
    assert found["reason"].startswith("LAUNCH_WORLD_SIZE: found 3; expected 2")
    assert found["stamp"] == stamps.of(NONCE)


@pytest.mark.parametrize("first", ["", "failed", "succeeded"])
def test_a_driver_that_the_cluster_starts_once_more_trains_nothing_and_keeps_a_success(
    tmp_path: Path, first: str
) -> None:
    written = {"stamp": stamps.of(NONCE), "state": first}
    if first:
        (tmp_path / "result.json").write_text(json.dumps(written))
    with running(tmp_path, "again") as (process, output, _):
        assert process.wait(SECONDS) == 1
    assert "launch: waiting for " not in output.read_text()
    assert "this is attempt 2 of the application: " in output.read_text()
    found = result(tmp_path)
    if first == "succeeded":
        assert found == written
    else:
        assert found["reason"].startswith("this is attempt 2 of the application: ")
        assert "run the same command again" in found["fix"]


@pytest.mark.parametrize(
    ("told", "attempt"), [(None, 1), ("1", 1), ("2", 2)], ids=["none", "first", "second"]
)
def test_the_attempt_of_an_application_is_sparks_own_word(told: str | None, attempt: int) -> None:
    assert driver.attempt_of(session([], attempt=told).sparkContext) == attempt


def test_a_spark_that_does_not_stop_is_given_up_with_its_jvm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, spark = driver.Driver([], ""), SimpleNamespace()
    given_up: list[tuple[Any, int]] = []
    over = threading.Event()

    def give_up(session: Any, code: int) -> None:
        given_up.append((session, code))
        over.set()

    def leave(code: int) -> NoReturn:
        raise SystemExit(code)

    monkeypatch.setattr(driver, "_STOPPING_SECONDS", 0.0)
    monkeypatch.setattr(driver.jvm_end, "give_up", give_up)
    monkeypatch.setattr(driver.jvm_end, "end", lambda *_: over.wait(SECONDS))
    monkeypatch.setattr(driver.os, "_exit", leave)
    monkeypatch.setattr(started, "_session", spark)
    with pytest.raises(SystemExit):
        started._end(None)
    assert given_up == [(spark, 0)]


def test_what_horovods_processes_write_without_end_is_cut_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = driver.Driver([], "")
    said: list[str] = []
    monkeypatch.setattr(started, "_console", SimpleNamespace(say=said.append))
    for number in range(60):
        started._remark(f"horovod: line {number}")
    assert said[39:] == [
        "horovod: line 39",
        "launch: what Horovod or torchrun write beyond 40 lines is left out",
    ]


def test_ranks_that_are_gone_without_a_word_fail_by_the_one_that_fell_silent_first() -> None:
    table = Table().began()
    table.report(0, time.monotonic())
    failure = driver.Driver([], "")._without_word(table.course, "SparkException: executor 1 lost")
    assert failure.rank == 1
    assert failure.reason.startswith("rank 1 was silent for ")
    assert failure.reason.endswith("; SparkException: executor 1 lost")


def test_whoever_asked_for_the_end_is_told_though_spark_ends_before_the_ranks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, ended = driver.Driver([], ""), []
    monkeypatch.setattr(started, "_end", ended.append)
    monkeypatch.setattr(started, "_course", Table().began().course)
    started._stopped("stopped by SIGINT", "SIGINT", 130)
    assert ended == []
    started._stopped("stopped: the spark-submit that started this driver is gone", "", 143)
    assert [(one.reason, one.code) for one in ended[:1]] == [("stopped by SIGINT", 130)]


# Master, properties of the driver; where ranks find it, and where it listens
ADDRESSES: list[tuple[str, dict[str, str], tuple[str, str]]] = [
    ("local[2]", {"spark.driver.host": "10.0.0.7"}, ("127.0.0.1", "127.0.0.1")),
    ("local-cluster[2,1,512]", {"spark.driver.host": "10.0.0.7"}, ("127.0.0.1", "127.0.0.1")),
    ("spark://h:7077", {"spark.driver.host": "10.0.0.7"}, ("10.0.0.7", "")),
    (
        "yarn",
        {"spark.driver.host": "gateway", "spark.driver.bindAddress": "10.0.0.7"},
        ("gateway", "10.0.0.7"),
    ),
]


@pytest.mark.parametrize(("master", "conf", "expected"), ADDRESSES)
def test_the_driver_listens_where_its_ranks_come_from(
    master: str, conf: dict[str, str], expected: tuple[str, str]
) -> None:
    context = SimpleNamespace(master=master, getConf=lambda: SimpleNamespace(get=conf.get))
    assert driver.addresses(context) == expected
