"""Agent and guard with real workers of TensorFlow's own strategies, gRPC on the loopback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.entrypoints.simulated import SimulatedJob
from tests.entrypoints.strategies import hangs
from tests.entrypoints.strategies import tensorflow_scripts as scripts

pytestmark = pytest.mark.horovod  # of the training stack

MakeJob = Callable[..., SimulatedJob]

SECONDS = 240.0  # importing TensorFlow takes seconds, and many times that on a loaded machine
WORLD = "launch: proof: world size 2: 2 hosts x 1 replica, gRPC"
IN_ONE = "launch: proof: world size 2: 1 host x 2 replicas, one process"
KERAS_2 = {"LAUNCH_KERAS": "2"}


@pytest.fixture
def tf_job(make_job: MakeJob) -> MakeJob:
    def make(**how: object) -> SimulatedJob:
        ours = {"PYTHONPATH": "", "TF_CPP_MIN_LOG_LEVEL": "3", "LAUNCH_STRATEGY": "tensorflow"}
        return make_job(**{**ours, **how})

    return make


def proofs(job: SimulatedJob) -> list[str]:
    return [line.partition("] ")[2] for line in job.said("launch: proof: ")]


def test_two_hosts_under_keras_2_are_proven_in_every_form_of_training(
    tf_job: MakeJob, tmp_path: Path
) -> None:
    job = tf_job(**KERAS_2, LAUNCH_CHECKPOINT_DIR=str(tmp_path))
    job.script(
        scripts.HOSTS + 'print("config", os.environ["TF_CONFIG"])\n'
        + scripts.FORMS_OF_KERAS_2 + scripts.FIT + scripts.TUTORIAL
    )  # fmt: skip
    assert job.run(seconds=SECONDS) == [0, 0], job.text()
    assert proofs(job) == [WORLD, f"{WORLD}; gradients exchanged, weights equal"]
    assert len(job.said("saved . True")) == 2
    configs = [json.loads(line.partition("config ")[2]) for line in job.said("config {")]
    assert [one["task"] for one in configs] == [
        {"type": "worker", "index": 0}, {"type": "worker", "index": 1},
    ]  # fmt: skip
    assert configs[0]["cluster"] == configs[1]["cluster"]
    assert len(set(configs[0]["cluster"]["worker"])) == 2, "a port of its own on each host"


def test_two_hosts_under_keras_3_are_proven_in_loops_of_their_own(
    tf_job: MakeJob, tmp_path: Path
) -> None:
    job = tf_job(LAUNCH_CHECKPOINT_DIR=str(tmp_path))
    job.script(scripts.HOSTS + scripts.FORMS + scripts.TUTORIAL)
    assert job.run(seconds=SECONDS) == [0, 0], job.text()
    assert len(job.said("saved . True")) == 2
    assert proofs(job) == [WORLD, f"{WORLD}; gradients exchanged, weights equal"]


def test_fit_under_keras_3_is_named_for_what_it_is(tf_job: MakeJob) -> None:
    job = tf_job()
    job.script(scripts.HOSTS + scripts.FIT)
    assert job.run(seconds=SECONDS) == [1, 1], job.text()
    assert "fit() of Keras 3 with a strategy of several hosts" in job.failure()["reason"]
    assert job.said("--keras 2")


def test_a_model_made_outside_of_the_scope_fails_the_job(tf_job: MakeJob) -> None:
    job = tf_job(**KERAS_2)
    job.script(scripts.HOSTS + scripts.FIT_OUTSIDE)
    assert job.run(seconds=SECONDS) == [1, 1], job.text()
    assert proofs(job) == [WORLD]
    failure = job.failure()
    assert failure["reason"].startswith("2 ranks trained apart: no gradient")
    assert "under the strategy's scope()" in failure["fix"]


def test_sums_of_gradients_that_nobody_applies_fail_the_job(tf_job: MakeJob) -> None:
    job = tf_job(**KERAS_2)
    job.script(scripts.HOSTS + scripts.LOOP + scripts.DROPPED)
    assert job.run(seconds=SECONDS) == [1, 1], job.text()
    assert proofs(job) == [WORLD]
    assert "what came back was not put into them" in job.failure()["reason"]


def test_a_host_whose_config_was_wiped_fails_the_job(tf_job: MakeJob) -> None:
    job = tf_job(**KERAS_2)
    wipe = "if worker == 1:\n    del os.environ['TF_CONFIG']\n"
    job.script(scripts.HOSTS.replace("strategy = ", wipe + "strategy = "))
    assert job.run(seconds=SECONDS) == [1, 1], job.text()
    failure = job.failure()
    assert failure["rank"] == 1
    assert "world size 1" in failure["reason"]
    assert job.said("the script has removed TF_CONFIG")
    assert not proofs(job)


def test_a_config_of_one_worker_on_each_host_fails_the_job(tf_job: MakeJob) -> None:
    job = tf_job(**KERAS_2)
    alone = """
import json, os
config = json.loads(os.environ["TF_CONFIG"])
own = config["cluster"]["worker"][config["task"]["index"]]
os.environ["TF_CONFIG"] = json.dumps(
    {"cluster": {"worker": [own]}, "task": {"type": "worker", "index": 0}})
"""
    job.script(alone + scripts.HOSTS)
    assert job.run(seconds=SECONDS) == [1, 1], job.text()
    assert "expected world size 2" in job.failure()["reason"]
    assert not proofs(job)


def test_a_mirrored_strategy_on_two_hosts_is_refused(tf_job: MakeJob) -> None:
    job = tf_job(**KERAS_2)
    job.script(scripts.DEVICES)
    assert job.run(seconds=SECONDS) == [1, 1], job.text()
    assert "MirroredStrategy, which knows the devices of one host" in job.failure()["reason"]
    assert job.said("use tf.distribute.MultiWorkerMirroredStrategy")


def test_a_script_that_makes_no_strategy_fails_the_job(tf_job: MakeJob) -> None:
    job = tf_job()
    job.script("print('trained alone')\n")
    assert job.run(seconds=SECONDS) == [1, 1], job.text()
    assert "without ever having made a strategy of 2 replicas" in job.failure()["reason"]


def test_a_killed_worker_is_the_failure_that_is_named(tf_job: MakeJob) -> None:
    job = tf_job(**KERAS_2)
    kill = "leave = lambda: os.kill(os.getpid(), signal.SIGKILL)\n"
    job.script(scripts.HOSTS + kill + scripts.LOST)
    assert job.run(seconds=SECONDS) == [137, 137], job.text()
    failure = job.failure()
    assert (failure["rank"], failure["signal"], failure["phase"]) == (1, "SIGKILL", "training")


def test_the_replicas_of_one_host_are_proven_without_a_second_rank(tf_job: MakeJob) -> None:
    job = tf_job(hosts=1, LAUNCH_WORLD_SIZE="2", **KERAS_2)
    job.script(scripts.DEVICES + scripts.LOOP + "loop()\n" + scripts.FIT)
    assert job.run(seconds=SECONDS) == [0], job.text()
    assert proofs(job) == [IN_ONE, f"{IN_ONE}; gradients exchanged"]


def test_a_model_on_one_of_two_replicas_fails_the_job(tf_job: MakeJob) -> None:
    job = tf_job(hosts=1, LAUNCH_WORLD_SIZE="2", **KERAS_2)
    job.script(scripts.DEVICES + scripts.FIT_OUTSIDE)
    assert job.run(seconds=SECONDS) == [1], job.text()
    assert job.failure()["reason"].startswith("one of 2 replicas trained")


COMPILED = """
hangs = worker == 1
def compiled():
    with strategy.scope():
        net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        net.compile("sgd", "mse")
    return net
"""


def test_a_host_that_hangs_in_fit_is_found_though_another_thread_prints(tf_job: MakeJob) -> None:
    # Without the hooks of the proof: by Keras' own count of batches.
    job = tf_job(**KERAS_2, LAUNCH_HANG_AFTER="4", LAUNCH_PROOF="init")
    job.script(scripts.HOSTS + COMPILED + hangs.FIT)
    job.start_all()
    job.until_said(hangs.FOUND, seconds=SECONDS)
