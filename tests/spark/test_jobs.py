"""`launch spark` as its user meets it, on a real standalone cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.cli.command import Answer, Launch
from tests.spark import cluster as clusters
from tests.waiting import processes_with, until

# Each waits for jobs that take seconds, and many times that on a loaded machine.
pytestmark = [pytest.mark.horovod, pytest.mark.timeout(3 * clusters.SECONDS)]

TRAINS = """
import os, sys
import horovod.tensorflow as hvd
import tensorflow as tf
hvd.init()
total = int(hvd.allreduce(tf.constant(1.0), op=hvd.Sum))
key = os.environ.get("KEY", "none")
print("rank", hvd.rank(), "of", total, sys.argv[1:], "with", key, len(key), flush=True)
"""
ENDLESS = """
import time
print("stepping", flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clusters.Cluster]:
    """Two workers of two cores each: four ranks take all of them."""
    with clusters.running(tmp_path_factory.mktemp("spark"), cores=2) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def nothing_is_left(launch: Launch, spark: clusters.Cluster) -> Iterator[None]:
    """No process of the test's jobs outlives it, on any worker."""
    yield
    until(lambda: not processes_with(str(launch.home)), "all processes gone")
    until(lambda: not spark.executors(), "all executors gone")


def words(spark: clusters.Cluster, *more: str, instances: int = 2) -> list[str]:
    """A job on the cluster's executors, two ranks each, whose Python is this one."""
    flags = ["--master", spark.url, "--instances", str(instances), "--processes", "2"]
    flags += ["--worker-python", sys.executable]
    return [
        "spark",
        "train.py",
        *flags,
        "--strategy",
        "horovod",
        *clusters.conf_words(clusters.CONF),
        *more,
    ]


def spark_environment() -> dict[str, str]:
    """What the cluster itself has, as far as a command may need it."""
    ours = clusters.environment()
    return {name: ours[name] for name in ours if os.environ.get(name) != ours[name]}


def log_of(launch: Launch) -> str:
    return "".join(path.read_text() for path in launch.home.glob("jobs/*/logs/job.log"))


def all_step(launch: Launch) -> bool:
    return log_of(launch).count("stepping") == 4


def run(launch: Launch, *line: str) -> Answer:
    """The command to its end, however loaded the machine."""
    done = subprocess.run(
        launch.command(*line),
        cwd=launch.folder,
        env=launch.environment(spark_environment()),
        capture_output=True,
        text=True,
        timeout=clusters.SECONDS,
        stdin=subprocess.DEVNULL,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def test_a_good_job_is_proven_and_found_again(launch: Launch, spark: clusters.Cluster) -> None:
    launch.write("train.py", TRAINS)
    secret = launch.home / "key"
    secret.write_text("s3cr3tvalue99")
    flags = ("--proof", "init", "--json", "--secret", f"KEY=file:{secret}")
    line = words(spark, *flags, "--", "--lr", "1.10", "", "a b")
    answer = run(launch, *line)
    assert answer.code == 0, answer.err
    name = answer.json["name"]
    assert answer.json["state"] == "succeeded"
    assert answer.json["proof"] == "world size 4: 2 hosts x 2 ranks, Gloo"
    assert launch("status", name, "--json").json["state"] == "succeeded"
    assert launch("wait", name).code == 0
    for rank in range(4):
        shown = launch("logs", name, "--rank", str(rank)).out
        assert f"rank {rank} of 4 ['--lr', '1.10', '', 'a b'] with *** 13" in shown
        assert shown.count(" of 4 [") == 1
    unknown = launch("logs", name, "--rank", "4")
    assert (unknown.code, "[rank-unknown]" in unknown.err) == (2, True)
    assert [job["name"] for job in launch("list", "--json").json] == [name]
    flags, arguments = line[: line.index("--")], line[line.index("--") :]
    second = launch(*(word for word in flags if word != "--json"), "--dry-run", *arguments)
    assert second.json["name"] == f"{name.removesuffix('-1')}-2"


def test_slots_are_one_jobs_until_its_launcher_is_killed(
    launch: Launch, spark: clusters.Cluster
) -> None:
    launch.write("train.py", ENDLESS)
    process = launch.start(*words(spark), **spark_environment())
    try:
        until(lambda: all_step(launch), "four ranks at work", clusters.SECONDS)
        (job,) = launch("list", "--json").json
        assert job["state"] == "running"

        # The limit is of the cluster's acceptance too, which takes more than 2 s on a busy machine.
        refused = run(launch, *words(spark, "--limit", "slots=15s", "--json"))
        assert (refused.code, refused.json["state"]) == (1, "failed")
        assert "4 slots (2 executors x 2 ranks)" in refused.json["reason"]

        waits = run(launch, *words(spark, "--detach", "--json")).json["name"]
        assert launch("status", waits, "--json").json["state"] in ("pending", "running")
        cancelled = launch("cancel", waits, "--json")
        assert (cancelled.code, cancelled.json["state"]) == (0, "stopped")
        assert launch("wait", waits).code == 1
    finally:
        process.kill()
        process.communicate()
    until(lambda: not processes_with(str(launch.home)), "all processes gone")
    ended = launch("status", job["name"], "--json").json
    assert (ended["state"], "killed" in ended["reason"]) == ("lost", True)
