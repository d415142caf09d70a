"""How jobs of spark_driver.py end on a real cluster: proven, or failed with rank and reason."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.spark import driven
from tests.spark.cluster import SECONDS, Cluster
from tests.spark.driven import Job
from tests.spark.test_preflight import listening
from tests.waiting import processes_with, until

# Each waits for jobs that take seconds, and many times that on a loaded machine.
pytestmark = [pytest.mark.horovod, pytest.mark.timeout(3 * SECONDS)]

# Every start of the script is counted; a rank says who it is, and where it waits.
START = """\
import os, sys, time
rank = int(os.environ["HOROVOD_RANK"])
with open(os.environ["STARTS"], "a") as starts:
    print(rank, flush=True, file=starts)
print("ready", os.getpid(), flush=True)
"""
WAIT = START + "time.sleep(3600)\n"
TRAIN = (
    START
    + """\
import tensorflow as tf
import horovod.tensorflow as hvd
hvd.init()
w = tf.Variable([1.0, 2.0])
for step in range(3):
    tape = hvd.DistributedGradientTape(tf.GradientTape())
    with tape:
        loss = tf.reduce_sum(w * w) * (rank + 1)
    w.assign_sub(0.1 * tape.gradient(loss, [w])[0])
"""
)


@contextmanager
def running(tmp_path: Path, spark: Cluster, script: str, **how: Any) -> Iterator[Job]:
    """A job with a mark of its own on all of its processes, of which none is left in the end."""
    mark = str(tmp_path / "starts")
    told = {"STARTS": mark, **how.pop("environment", {})}
    with driven.running(tmp_path / "job", spark.url, script, environment=told, **how) as job:
        yield job
    until(lambda: not processes_with(mark), "every process of the job gone", SECONDS)


def ready(job: Job) -> dict[int, int]:
    """Rank -> process of its script, once both run."""
    until(lambda: job.says("] ready ") and job.output.count("] ready ") == 2, "both", SECONDS)
    found = [(line.rank, line.text) for line in job.lines if line.text.startswith("ready ")]
    return {rank: int(text.split()[1]) for rank, text in found if rank is not None}


def starts(tmp_path: Path) -> list[int]:
    """The ranks whose scripts were started, as often as they were."""
    return sorted(int(line) for line in (tmp_path / "starts").read_text().split())


def failed(job: Job, rank: int, reason: str) -> dict[str, Any]:
    """Asserts that output, exit code and result file say so of a job; gives the file."""
    assert job.await_end() == 1, job.all()
    told = job.watch.failure
    assert told is not None, job.all()
    assert (told["rank"], reason in told["reason"]) == (rank, True), told
    assert job.output.count("launch: failure: ") == 1
    result = job.result
    assert (result["state"], result["failed_rank"], result["exit_code"]) == ("failed", rank, 1)
    assert result["reason"] == told["reason"]
    return result


def test_two_ranks_on_two_executors_are_proven_and_every_process_ends(
    tmp_path: Path, spark: Cluster
) -> None:
    script = TRAIN + 'print("given", sys.argv[1:], sorted(os.environ), flush=True)\n'
    script += 'print("sees", repr(os.environ["CUDA_VISIBLE_DEVICES"]), flush=True)\n'
    script += 'print("by", os.environ["HOROVOD_GLOO_IFACE"], flush=True)\n'
    with running(tmp_path, spark, script, arguments=["--epochs", "3"]) as job:
        assert job.await_end() == 0, job.all()

    assert starts(tmp_path) == [0, 1]
    proof = "world size 2: 2 hosts x 1 rank, Gloo; gradients exchanged, weights equal"
    assert job.watch.proof == proof
    assert job.watch.failure is None
    for rank in (0, 1):
        (given,) = (text for text in job.texts(rank) if text.startswith("given"))
        assert given.startswith("given ['--epochs', '3'] [")
        for secret in ("LAUNCH_NONCE", "_HOROVOD_SECRET_KEY", "PYTHON_WORKER_FACTORY_SECRET"):
            assert secret not in given
        assert "sees ''" in job.texts(rank)  # --gpus was not given
        assert "by lo" in job.texts(rank)  # as the driver's address: no other one was tried
    assert driven.NONCE not in job.output + job.log
    # Two executors of one machine are told apart by their names.
    hosts = {line.host for line in job.lines if line.rank is not None}
    assert {host.rpartition(".")[2] for host in hosts} == {"executor-0", "executor-1"}

    result = job.result
    assert (result["state"], result["proof"], result["stamp"]) == ("succeeded", proof, driven.STAMP)
    assert [one["rank"] for one in result["ranks"]] == [0, 1]
    assert {one["executor"] for one in result["ranks"]} == {"0", "1"}
    assert {one["host"] for one in result["ranks"]} == hosts
    assert result["slots"] == {"found": 2, "wanted": 2}


def test_two_ranks_of_one_executor_that_unpacks_no_archive_are_proven(tmp_path: Path) -> None:
    how: dict[str, Any] = {"instances": 1, "processes": 2, "conf": {"spark.archives": ""}}
    told = {"STARTS": str(tmp_path / "starts")}
    with driven.running(tmp_path / "job", "local[2]", TRAIN, environment=told, **how) as job:
        assert job.await_end() == 0, job.all()
    assert starts(tmp_path) == [0, 1]
    proof = "world size 2: 1 host x 2 ranks, Gloo; gradients exchanged, weights equal"
    assert job.result["proof"] == proof
    assert job.output.splitlines()[-1] == (
        f"[driver/agent] launch: proof: {proof} [{driven.STAMP}]"
    )


def test_a_rank_that_raises_is_named_with_its_last_lines_and_nothing_runs_twice(
    tmp_path: Path, spark: Cluster
) -> None:
    script = START + (
        "import signal\n"
        "waits = os.environ['STARTS'] + '.waits'\n"
        "if rank == 0:\n"
        "    signal.signal(signal.SIGTERM, lambda *_: sys.exit('what rank 0 met'))\n"
        "    open(waits, 'w').close()\n"
        "while not os.path.exists(waits):\n"
        "    time.sleep(0.05)\n"
        "for number in range(30):\n"
        "    print('line', number)\n"
        "if rank == 1:\n"
        "    raise ValueError('a bad batch')\n"
        "time.sleep(3600)\n"
    )
    with running(tmp_path, spark, script) as job:
        result = failed(job, 1, "ValueError: a bad batch")

    assert starts(tmp_path) == [0, 1]
    assert len(result["last_lines"]) == 20
    assert result["last_lines"][-1] == "ValueError: a bad batch"
    assert result["last_lines"][0].startswith("line ")
    assert "Traceback (most recent call last):" in job.texts(1)
    assert job.watch.tail(1)[-1] == "ValueError: a bad batch"
    # What another rank wrote then comes behind the failure's line, and apart.
    behind = job.output.partition("launch: failure: ")[2]
    assert "/0] launch: after the failure rank 0 wrote, last " in behind
    assert "/0] | what rank 0 met\n" in behind
    assert job.output.count("what rank 0 met") == 1


@pytest.mark.parametrize("what", ["rank", "executor", "container"])
def test_a_killed_rank_or_executor_fails_the_job_by_its_rank_and_nothing_runs_twice(
    what: str, tmp_path: Path, spark: Cluster
) -> None:
    with running(tmp_path, spark, WAIT) as job:
        scripts = ready(job)
        hosts = {line.rank: line.host for line in job.lines}
        if what == "rank":
            os.kill(scripts[1], signal.SIGKILL)
        else:
            whole = spark.container(int(hosts[1].rpartition("-")[2]))
            assert scripts[1] in whole
            for pid in whole if what == "container" else whole[:1]:
                with suppress(ProcessLookupError):  # the end of one may have ended another
                    os.kill(pid, signal.SIGKILL)
        reason = "rank 1 killed by SIGKILL" if what == "rank" else "rank 1 "
        result = failed(job, 1, reason)

    assert starts(tmp_path) == [0, 1]
    assert result["last_lines"] == [f"ready {scripts[1]}"]
    if what != "rank":
        assert "executor" in result["reason"]


def test_a_script_that_never_joins_fails_though_all_ranks_exit_with_0(
    tmp_path: Path, spark: Cluster
) -> None:
    with running(tmp_path, spark, START) as job:
        assert job.await_end() == 1, job.all()
    assert "without ever having called hvd.init()" in job.result["reason"]
    assert not job.watch.proof


def test_ranks_that_join_a_world_of_one_fail_with_the_reason(
    tmp_path: Path, spark: Cluster
) -> None:
    wiped = (
        "for name in [name for name in os.environ if name.startswith('HOROVOD_')]:\n"
        "    del os.environ[name]\n"
    )
    script = START + wiped + "import horovod.tensorflow as hvd\nhvd.init()\n"
    with running(tmp_path, spark, script) as job:
        assert job.await_end() == 1, job.all()
    assert "world size 1" in job.result["reason"]
    assert "world size 2" in job.result["reason"]
    assert not job.watch.proof


def test_a_rank_whose_process_leaves_with_0_before_it_returned_is_missing(
    tmp_path: Path, spark: Cluster
) -> None:
    hook = tmp_path / "hook"
    hook.mkdir()
    # In the process between executor and guard, which no script can end so.
    (hook / "sitecustomize.py").write_text(
        "import os, sys, threading, time\n"
        "def leave():\n"
        "    while not os.path.exists(os.environ['STARTS']):\n"
        "        time.sleep(0.05)\n"
        "    os._exit(0)\n"
        "if 'horovod.spark.task.gloo_exec_fn' in sys.orig_argv:\n"
        "    threading.Thread(target=leave, daemon=True).start()\n"
    )
    told = {"PYTHONPATH": str(hook)}
    with running(tmp_path, spark, WAIT, instances=1, environment=told) as job:
        failed(job, 0, "rank 0 has ended, and its result is missing")


@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_no_rank_is_left_where_the_driver_is_interrupted_or_killed(
    how: str, tmp_path: Path, spark: Cluster
) -> None:
    with running(tmp_path, spark, WAIT) as job:
        ready(job)
        if how == "interrupt":
            driven.for_all(job.process, signal.SIGINT)
        else:
            job.process.kill()
        assert job.await_end() != 0
        until(lambda: not processes_with(str(tmp_path / "starts")), "no process of a rank", SECONDS)
    assert starts(tmp_path) == [0, 1]
    assert not job.watch.proof


def test_executors_that_are_missing_are_told_at_once_and_an_interrupt_ends_the_wait(
    tmp_path: Path, spark: Cluster
) -> None:
    with running(tmp_path, spark, WAIT, instances=3) as job:
        until(lambda: job.says("waiting for 3 slots (3 executors x 1 rank): "), "the wait", SECONDS)
        driven.for_all(job.process, signal.SIGINT)
        assert job.await_end() != 0
        until(lambda: (job.folder / "result.json").exists(), "the driver's own word", SECONDS)
    assert (job.result["reason"], job.result["exit_code"]) == ("stopped by SIGINT", 130)
    assert not (tmp_path / "starts").exists()


def test_a_master_that_does_not_answer_is_given_up_and_no_process_is_left(tmp_path: Path) -> None:
    told = {"LAUNCH_REMINDER_SECONDS": "0.1", "STARTS": str(tmp_path / "starts")}
    how: dict[str, Any] = {"environment": told, "conf": {"spark.launch.slots.seconds": "3"}}
    with ExitStack() as stack:
        master = f"spark://127.0.0.1:{stack.enter_context(listening())}"
        job = stack.enter_context(driven.running(tmp_path / "job", master, WAIT, **how))
        assert job.await_end() == 1, job.all()
    until(lambda: not processes_with(told["STARTS"]), "every process of the job gone", SECONDS)
    assert "waiting for the cluster to accept the application" in job.output
    assert "has not accepted the application within 3 s" in job.result["reason"]
