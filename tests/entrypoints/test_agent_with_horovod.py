"""Agent and guard with real Horovod ranks: TensorFlow, Gloo."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.entrypoints.simulated import WIPE_HOROVOD, SimulatedJob
from tests.entrypoints.strategies import hangs
from tests.keras_2 import LEGACY_KERAS
from tests.waiting import until

pytestmark = pytest.mark.horovod

MakeJob = Callable[..., SimulatedJob]

SECONDS = 240.0  # importing TensorFlow takes seconds, and many times that on a loaded machine

START = """
import os, sys, time
import tensorflow as tf
import horovod.tensorflow as hvd
hvd.init()
rank = hvd.rank()
def total(value):
    return float(hvd.allreduce(tf.constant([value]), op=hvd.Sum)[0])
"""
TRAIN = (
    START
    + """
print("training", rank)
for step in range(100_000):
    total(1.0)
    if step == 20 and rank == 1:
        fail()
    time.sleep(0.01)
"""
)


@pytest.fixture
def real_job(make_job: MakeJob) -> MakeJob:
    def make(**how: object) -> SimulatedJob:
        # Without the stand-in.
        own = {"PYTHONPATH": "", "TF_CPP_MIN_LOG_LEVEL": "3", LEGACY_KERAS: "1"}
        return make_job(**{**own, **how})

    return make


def test_four_ranks_on_two_hosts_add_up_and_are_proven(real_job: MakeJob) -> None:
    job = real_job(hosts=2, processes=2)
    job.script(
        START
        + """
print("sum", total(10.0 ** rank), "local", hvd.local_rank(), "of", hvd.local_size(),
      "cross", hvd.cross_rank(), "of", hvd.cross_size())
"""
    )
    assert job.run(seconds=SECONDS) == [0, 0], job.text()
    proof = "[host-1/0] launch: proof: world size 4: 2 hosts x 2 ranks, Gloo"
    assert job.said("proof") == [proof, f"{proof}; no training seen"]
    assert sorted(job.said("sum")) == [
        f"[host-{1 + rank // 2}/{rank}] sum 1111.0 local {rank % 2} of 2 cross {rank // 2} of 2"
        for rank in range(4)
    ]


def test_horovod_can_be_shut_down_and_started_again_and_have_process_sets(
    real_job: MakeJob,
) -> None:
    job = real_job(hosts=2)
    job.script(
        START
        + """
first = total(1.0 + rank)
hvd.shutdown()
alone = hvd.ProcessSet([0])
hvd.init(process_sets=[alone])
second = total(10.0 + rank)
if rank == 0:
    hvd.allreduce(tf.constant([1.0]), process_set=alone)
total(0.0)
hvd.shutdown()
print("sums", first, second)
"""
    )
    assert job.run(seconds=SECONDS) == [0, 0], job.text()
    assert len(job.said(r"sums 3.0 21.0")) == 2
    assert len(job.said("proof: .*Gloo$")) == 1


def test_a_rank_that_is_killed_takes_all_others_with_it_and_is_the_one_named(
    real_job: MakeJob,
) -> None:
    job = real_job(hosts=2)
    job.script(TRAIN.replace("fail()", "print('in the middle')"))
    job.start_all()
    job.until_said("in the middle", SECONDS)
    os.kill(job.guard(1), signal.SIGKILL)
    until(lambda: not job.processes_of_ranks(), "the end of all ranks")
    assert job.wait() == [137, 137]
    assert (job.failure()["rank"], job.failure()["signal"]) == (1, "SIGKILL")
    assert job.failure()["phase"] == "training"
    assert not job.said("Horovod has been shut down")


# what rank 1 does; codes; the reason
FAILURES = {
    "raises": ("raise ValueError('boom')", [1, 1], "ValueError: boom"),
    "exits": ("sys.exit(3)", [3, 3], "the script called sys.exit(3)"),
    "exits past everything": ("os._exit(3)", [3, 3], "rank 1 exited with code 3"),
    "crashes": ("os.abort()", [134, 134], "rank 1 killed by SIGABRT"),
}


@pytest.mark.parametrize("how", FAILURES)
def test_the_rank_that_failed_is_named_and_its_peers_complaints_are_not_shown(
    how: str, real_job: MakeJob
) -> None:
    text, codes, reason = FAILURES[how]
    job = real_job(hosts=2)
    job.script(TRAIN.replace("fail()", text))
    assert job.run(seconds=SECONDS) == codes, job.text()
    found = job.failure()
    # An exit code alone is told with the rank's last line.
    assert (found["rank"], found["reason"].partition("; its last line: ")[0]) == (1, reason)
    assert not job.said("UnknownError")
    assert len(job.said("Traceback")) == (1 if how == "raises" else 0)


def test_a_rank_whose_peer_ended_early_says_so(real_job: MakeJob) -> None:
    job = real_job(hosts=2)
    job.script(TRAIN.replace("fail()", "sys.exit(0)"))
    assert job.run(seconds=SECONDS) == [1, 1], job.text()
    assert job.failure()["rank"] == 0
    assert "Horovod has been shut down" in job.failure()["reason"]
    assert len(job.said("Traceback")) == 1


def test_wiped_variables_of_horovods_are_found_when_init_returns(real_job: MakeJob) -> None:
    job = real_job(hosts=2)
    job.script(WIPE_HOROVOD + START + "print('went on')\ntime.sleep(1000)\n")
    assert job.run(seconds=SECONDS) == [1, 1], job.text()
    assert "found world size 1" in job.failure()["reason"]
    assert "the script has removed HOROVOD_RANK" in job.failure()["reason"]
    assert not job.said("went on")


def test_a_start_that_aborts_is_an_ordinary_failure(real_job: MakeJob) -> None:
    job = real_job(hosts=1, processes=2)
    # Horovod tries a rendezvous that is not there three times, and aborts with 134.
    job.script("import os\nos.environ['HOROVOD_GLOO_RENDEZVOUS_PORT'] = '1'\n" + START)
    assert job.run(seconds=SECONDS) == [1], job.text()
    assert (job.failure()["exit_code"], job.failure()["phase"]) == (134, "starting")


def test_horovod_in_a_spawned_child_is_proven(real_job: MakeJob) -> None:
    job = real_job(hosts=2)
    job.script("""
import multiprocessing
def train():
    import tensorflow as tf
    import horovod.tensorflow as hvd
    hvd.init()
    print("sum", float(hvd.allreduce(tf.constant([1.0]), op=hvd.Sum)[0]))
if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=train)
    child.start()
    child.join()
    raise SystemExit(child.exitcode)
""")
    assert job.run(seconds=SECONDS) == [0, 0], job.text()
    assert len(job.said("sum 2.0")) == 2
    assert len(job.said(r"^\[host-1/0\] launch: proof: world size 2: .*Gloo$")) == 1


def test_a_horovod_run_inside_the_script_is_refused_by_name(real_job: MakeJob) -> None:
    job = real_job(hosts=1)
    job.script("""
def train():
    import horovod.tensorflow as hvd
    hvd.init()
if __name__ == "__main__":
    import horovod
    horovod.run(train, np=2, use_gloo=True)
    print("went on")
""")
    assert job.run(seconds=SECONDS) == [1], job.text()
    assert "a launcher inside the script (horovod.run" in job.failure()["reason"]
    assert not job.said(r"\] went on")
    assert not job.processes_of_ranks()


# In Keras' compiled step.
COMPILED = """
import horovod.tensorflow.keras as keras_hvd
hangs = rank == 1
def compiled():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(keras_hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01)), "mse")
    return model
"""


def test_a_rank_that_hangs_in_fit_is_found_though_another_thread_prints(real_job: MakeJob) -> None:
    job = real_job(hosts=1, processes=2, LAUNCH_KERAS="2", LAUNCH_HANG_AFTER="4")
    job.script(START + COMPILED + hangs.FIT)
    job.start_all()
    job.until_said(hangs.FOUND, seconds=SECONDS)


# Step by step in Python, without a tf.function.
EAGER = """
weights, optimizer = tf.Variable(tf.ones((4, 1))), tf.keras.optimizers.SGD(0.01)
hvd.broadcast_variables([weights], root_rank=0)
for step in range(100_000):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.ones((8, 4)) @ weights) ** 2)
    gradients = hvd.DistributedGradientTape(tape).gradient(loss, [weights])
    optimizer.apply_gradients(zip(gradients, [weights]))
    if step == 200 and rank == 1:
        stand()
"""


def test_a_rank_that_hangs_in_an_eager_loop_is_found_too(real_job: MakeJob) -> None:
    job = real_job(hosts=1, processes=2, LAUNCH_KERAS="2", LAUNCH_HANG_AFTER="4")
    job.script(START + hangs.BEAT + EAGER)
    job.start_all()
    job.until_said(hangs.FOUND, seconds=SECONDS)
