"""Replicas as a service starts them: minutes apart, with CLUSTER_SPEC in every form or in none."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from launch_runtime.host.cluster import LoneReplicaError
from launch_runtime.host.cluster import read as read_cluster

from tests.entrypoints.simulated import HVD, SimulatedJob, free_port
from tests.waiting import until

MakeJob = Callable[..., SimulatedJob]

TELLS = (
    HVD
    + """
import os
hvd.init()
names = ("TF_CONFIG", "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
print("left", [name for name in names if name in os.environ])
"""
)


class Replicas:
    """Replicas of a custom job on this machine: pool 0 has one, pool 1 the others."""

    def __init__(self, job: SimulatedJob):
        self.job = job

    def spec(self, index: int, **more: Any) -> str:
        own = f"127.0.0.1:{self.job.port}"
        value = {
            "cluster": {"workerpool0": [own], "workerpool1": [own] * (self.job.hosts - 1)},
            "environment": "cloud",
            "task": {"type": f"workerpool{min(index, 1)}", "index": max(index - 1, 0)},
            "job": '{"scale_tier": "CUSTOM"}',
            **more,
        }
        return json.dumps(value)

    def start(self, *indices: int, **how: str) -> None:
        for index in indices:
            environment = {"CLUSTER_SPEC": self.spec(index), "LAUNCH_CLUSTER": "", **how}
            self.job.start(index, **environment)


@pytest.fixture
def replicas(make_job: MakeJob) -> Callable[..., Replicas]:
    def make(**how: Any) -> Replicas:
        made = Replicas(make_job(**{"hosts": 2, **how}))
        made.job.script(TELLS)
        return made

    return make


def test_ranks_see_nothing_of_the_services_own_launcher(
    replicas: Callable[..., Replicas],
) -> None:
    two = replicas(processes=2)
    tf_config = '{"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": 0}}'
    two.start(0, 1, TF_CONFIG=tf_config, MASTER_ADDR="x", MASTER_PORT="1", RANK="0", WORLD_SIZE="2")
    assert two.job.wait() == [0, 0], two.job.text()
    assert len(two.job.said(r"left \[\]")) == 4


@pytest.mark.parametrize("index", [0, 1])
def test_a_replica_without_its_cluster_spec_is_no_job_of_its_own(
    index: int, replicas: Callable[..., Replicas]
) -> None:
    two = replicas()
    two.start(index, CLUSTER_SPEC="")
    assert two.job.wait() == [2]
    failure = two.job.failure()
    assert "CLUSTER_SPEC is not set, though LAUNCH_INSTANCES promises 2 hosts" in failure["reason"]
    assert failure["phase"] == "joining"
    assert not two.job.said(r"/\d\]")


@pytest.mark.parametrize("kind", ["chief", "workerpool0"])
def test_a_replica_that_is_told_that_it_is_alone_is_no_job_of_its_own(
    kind: str, replicas: Callable[..., Replicas]
) -> None:
    two = replicas()
    alone = {"cluster": {kind: ["127.0.0.1:2222"]}, "task": {"type": kind, "index": 0}}
    two.start(0, CLUSTER_SPEC=json.dumps(alone))
    assert two.job.wait() == [1]
    assert two.job.failure()["reason"] == "LAUNCH_INSTANCES promises 2 hosts, found 1"
    assert not two.job.said(r"/\d\]")


def test_open_ports_are_where_the_replicas_meet(replicas: Callable[..., Replicas]) -> None:
    two = replicas()
    port, two.job.port = two.job.port, 9
    for index in (0, 1):
        two.start(index, CLUSTER_SPEC=two.spec(index, open_ports=[port]))
    assert two.job.wait() == [0, 0], two.job.text()


def test_a_replica_that_cannot_start_keeps_that_for_a_first_one_that_comes_minutes_later(
    replicas: Callable[..., Replicas],
) -> None:
    two = replicas()
    two.start(1, LAUNCH_SOURCE_DIR="/nonexistent")
    two.job.until_said(r"workerpool1-0/agent\] launch: LAUNCH_SOURCE_DIR")
    assert two.job.agents[1].poll() is None, "it waits for the first one"
    two.start(0)
    assert two.job.wait() == [2, 2]
    assert two.job.failure()["host"] == "workerpool1-0"
    assert "/nonexistent is not a folder" in two.job.failure()["reason"]


def test_a_first_replica_that_cannot_start_says_it_in_the_launchers_line(
    replicas: Callable[..., Replicas],
) -> None:
    two = replicas()
    two.start(0, LAUNCH_SOURCE_DIR="/nonexistent")
    assert two.job.wait() == [2]
    assert two.job.failure()["host"] == "workerpool0-0"


def test_a_first_replica_that_is_started_again_ends_the_job_with_a_code_that_is_tried_again(
    replicas: Callable[..., Replicas],
) -> None:
    two = replicas()
    two.job.script(HVD + "import time\nhvd.init()\nprint('training')\ntime.sleep(1000)\n")
    two.start(0, 1)
    two.job.until_said("training", count=2)
    two.job.agents[0].kill()
    two.job.agents[0].wait()
    two.start(0)
    assert two.job.wait() == [6, 6], two.job.text()
    for failure in two.job.failures():
        assert failure["reason"].startswith("workerpool0-0 was started again while the job ran")


def test_the_first_replica_stays_until_the_others_have_said_all(
    replicas: Callable[..., Replicas],
) -> None:
    two = replicas()
    last = 30_000
    two.job.script(HVD + f"hvd.init()\nfor n in range({last}): print('line', n)\n")
    environment = {**two.job.agent_environment(1), "CLUSTER_SPEC": two.spec(1)}
    del environment["LAUNCH_CLUSTER"]
    command = [sys.executable, str(two.job.entrypoints / "agent.py"), "train.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as slow:
        two.job.agents[1] = slow  # type: ignore[assignment]
        two.start(0)
        two.job.until_said(f"line {last - 1}")
        until(lambda: not two.job.processes_of_ranks(), "the end of the ranks")
        assert slow.stdout is not None
        first = slow.stdout.readline()
        assert two.job.agents[0].poll() is None, "the service would kill the other one now"
        said = [first, *slow.stdout]
    assert two.job.wait() == [0, 0], two.job.text(0)
    assert said[-1] == f"[workerpool1-0/1] line {last - 1}\n"


def test_a_worker_without_its_cluster_spec_ends_the_whole_job_at_once(
    replicas: Callable[..., Replicas],
) -> None:
    three = replicas(hosts=3, LAUNCH_JOIN_TIMEOUT="1800", LAUNCH_NONCE="ab" * 16)
    own = f"127.0.0.1:{three.job.port}"
    config = {
        "cluster": {"chief": [own], "worker": [own, own], "ps": ["reduction-server:2222"]},
        "task": {"type": "worker", "index": 1},
    }
    three.start(0, 1)
    # The port of the service's own launcher is not always the one that the first host listens on.
    three.start(2, CLUSTER_SPEC="", TF_CONFIG=json.dumps(config), MASTER_PORT=str(free_port()))
    assert three.job.wait() == [2, 2, 2], three.job.text()
    failure = three.job.failure()
    assert failure["host"] == "workerpool1-1"
    assert "CLUSTER_SPEC is not set, though LAUNCH_INSTANCES promises 3" in failure["reason"]
    assert not three.job.said("left")


@pytest.mark.parametrize(
    "config",
    ["", "{}", "[]", '{"cluster": [], "task": {}}', '{"cluster": {"worker": 5}, "task": {}}',
     '{"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": 0}}'],
)  # fmt: skip
def test_a_lone_replica_that_knows_nobody_ends_alone(config: str) -> None:
    with pytest.raises(LoneReplicaError) as error:
        read_cluster({"LAUNCH_INSTANCES": "3", "TF_CONFIG": config})
    assert error.value.cluster is None


def test_a_refused_replica_does_not_wait_for_a_first_host_that_was_there_and_is_gone(
    replicas: Callable[..., Replicas],
) -> None:
    three = replicas(hosts=3, LAUNCH_JOIN_TIMEOUT="1800")
    three.start(0)
    three.start(1)
    three.job.until_said("workerpool1-0 is here")
    three.job.agents[0].kill()
    three.job.agents[0].wait()
    three.job.agents[1].send_signal(signal.SIGTERM)
    assert three.job.agents[1].wait(120) == 143
