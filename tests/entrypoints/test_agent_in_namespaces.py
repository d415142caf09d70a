"""Replicas as Vertex AI has them, with real Horovod: a network of their own and CLUSTER_SPEC."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.entrypoints.namespaces import Network, network
from tests.entrypoints.simulated import SimulatedJob
from tests.entrypoints.test_agent_with_horovod import SECONDS, START
from tests.keras_2 import LEGACY_KERAS
from tests.waiting import until

pytestmark = pytest.mark.horovod

NAMES = ["workerpool0-0", "workerpool1-0", "workerpool1-1"]
TRAIN = (
    START
    + """
print("it trains:", rank)
for step in range(100_000):
    total(1.0)
    time.sleep(0.01)
"""
)

IDLE = START + "print('it trains:', rank)\ntime.sleep(1000)\n"


class Replicas:
    """Three replicas of a custom job."""

    def __init__(self, job: SimulatedJob, net: Network):
        self.job, self.net = job, net
        job.before = net.inside

    def start(self, *indices: int, **environment: str) -> None:
        entries = [f"{self.net.name(index)}:2222" for index in range(3)]
        for index in indices:
            spec = {
                "cluster": {"workerpool0": entries[:1], "workerpool1": entries[1:],
                            "workerpool2": ["reduction-server:2222"]},
                "environment": "cloud", "job": "{}",
                "task": {"type": f"workerpool{min(index, 1)}", "index": max(index - 1, 0)},
            }  # fmt: skip
            self.job.start(
                index, CLUSTER_SPEC=json.dumps(spec), LAUNCH_CLUSTER="", TF_CONFIG="{}",
                MASTER_ADDR="x", MASTER_PORT="1", RANK="0", WORLD_SIZE="3", **environment,
            )  # fmt: skip


@pytest.fixture
def replicas(make_job: Callable[..., SimulatedJob]) -> Iterator[Callable[..., Replicas]]:
    with network(3) as net:

        def make(**how: object) -> Replicas:
            own = {"PYTHONPATH": "", "TF_CPP_MIN_LOG_LEVEL": "3", LEGACY_KERAS: "1"}
            return Replicas(make_job(hosts=3, **{**own, **how}), net)

        yield make


def test_three_replicas_of_two_ranks_add_up_though_one_is_late(
    replicas: Callable[..., Replicas],
) -> None:
    three = replicas(processes=2, LAUNCH_REMINDER_SECONDS="0.5")
    three.job.script(START + "print('sum', total(10.0 ** rank), os.environ['HOROVOD_GLOO_IFACE'])")
    three.start(0, 2)
    three.job.until_said("waiting for workerpool1-0")
    three.start(1)
    assert three.job.wait(SECONDS) == [0, 0, 0], three.job.text()
    assert len(three.job.said("sum 111111.0 eth0")) == 6
    proof = "[workerpool0-0/0] launch: proof: world size 6: 3 hosts x 2 ranks, Gloo"
    assert three.job.said("proof") == [proof, f"{proof}; no training seen"]


def test_a_replica_that_never_comes_is_named(replicas: Callable[..., Replicas]) -> None:
    three = replicas(LAUNCH_JOIN_TIMEOUT="3")
    three.job.script("print('the script ran')")
    three.start(0, 2)
    assert three.job.wait() == [1, 1]
    assert three.job.failure()["reason"] == "workerpool1-0 did not join within 3 s"


def test_a_rank_that_is_killed_ends_all_replicas_with_its_code(
    replicas: Callable[..., Replicas],
) -> None:
    three = training(replicas, processes=2)
    os.kill(three.job.guard(4), signal.SIGKILL)
    until(lambda: not three.job.processes_of_ranks(), "the end of all ranks")
    assert three.job.wait() == [137, 137, 137]
    failure = three.job.failure()
    assert (failure["rank"], failure["host"]) == (4, "workerpool1-1")
    assert (failure["exit_code"], failure["signal"]) == (137, "SIGKILL")
    assert failure["phase"] == "training"


def test_a_replica_that_is_lost_ends_the_job_with_a_code_that_is_tried_again(
    replicas: Callable[..., Replicas],
) -> None:
    three = training(replicas, processes=2)
    three.job.agents[1].kill()
    three.job.agents[1].wait()
    # Its ranks' peers fail at once; the container comes back when the job has ended.
    del three.job.agents[1]
    assert three.job.wait() == [6, 6]
    assert three.job.failure()["host"] == "workerpool1-0"
    assert not three.job.processes_of_ranks()


@pytest.mark.parametrize("index", [0, 1])
def test_a_replica_that_is_restarted_ends_the_whole_job_with_a_code_that_is_tried_again(
    index: int, replicas: Callable[..., Replicas]
) -> None:
    # Its peers' ranks notice their loss later than its agent is back.
    three = training(replicas, script=IDLE, processes=2)
    three.job.agents[index].kill()
    three.job.agents[index].wait()
    three.start(index)
    assert three.job.wait() == [6, 6, 6], three.job.text()
    for failure in three.job.failures():
        assert failure["host"] == NAMES[index]
        assert "was started again while the job ran" in failure["reason"]
    assert len(three.job.said("it trains:")) == 6, "no rank was started a second time"
    assert not three.job.processes_of_ranks()


# cut links; every replica's exit code; words of the reason
PARTITIONS = {
    "two workers": ([(1, 2)], [1, 1, 1], "or two hosts cannot reach each other"),
    "one worker from the first": ([(0, 1)], [6, 6, 6], "workerpool1-0 was silent"),
    "one from all": ([(0, 2), (1, 2)], [6, 6, 6], "workerpool1-1 was silent"),
}


@pytest.mark.parametrize("case", PARTITIONS)
def test_a_network_that_drops_packets_ends_the_job_everywhere(
    case: str, replicas: Callable[..., Replicas]
) -> None:
    cut, codes, words = PARTITIONS[case]
    three = training(
        replicas, processes=2, LAUNCH_HOST_TIMEOUT="5", HOROVOD_GLOO_TIMEOUT_SECONDS="8"
    )
    for one, other in cut:
        three.net.cut(one, other)
    assert three.job.wait(SECONDS) == codes, three.job.text()
    assert words in three.job.failures()[0]["reason"]
    assert not three.job.processes_of_ranks()


def test_workers_that_cannot_reach_each_other_from_the_start_are_no_transient_failure(
    replicas: Callable[..., Replicas],
) -> None:
    three = replicas(HOROVOD_GLOO_TIMEOUT_SECONDS="4")
    three.job.script(TRAIN)
    three.net.cut(1, 2)
    three.start(0, 1, 2)
    assert three.job.wait(SECONDS) == [1, 1, 1], three.job.text()
    failure = three.job.failure()
    assert (failure["phase"], failure["exit_code"]) == ("starting", 134)
    assert "a rank cannot reach another one" in failure["reason"]


def test_a_replica_that_is_cut_off_from_the_start_never_came(
    replicas: Callable[..., Replicas],
) -> None:
    three = replicas(LAUNCH_JOIN_TIMEOUT="4")
    three.job.script("print('the script ran')")
    three.net.cut(0, 2)
    three.start(0, 1, 2)
    assert three.job.wait() == [1, 1, 1]
    assert three.job.failures()[0]["reason"] == "workerpool1-1 did not join within 4 s"
    assert "workerpool0-0 did not join within 4 s" in three.job.text(2)
    assert not three.job.said("the script ran")


def training(replicas: Callable[..., Replicas], script: str = TRAIN, **how: object) -> Replicas:
    """Three replicas whose ranks have all begun."""
    three = replicas(**how)
    three.job.script(script)
    three.start(0, 1, 2)
    ranks = three.job.hosts * three.job.processes
    three.job.until_said("it trains:", SECONDS, count=ranks)
    return three


def test_a_host_whose_own_name_leads_nowhere_is_warned_of(
    make_job: Callable[..., SimulatedJob],
) -> None:
    with network(3) as net:
        three = Replicas(make_job(hosts=3), net)
        three.job.before = lambda index: net.inside(index, own_name=False)
        three.job.script("import horovod.anyframework as hvd\nhvd.init()\n")
        three.start(0, 1, 2)
        assert three.job.wait() == [0, 0, 0]
        assert len(three.job.said("warning: this machine's own name nobody has no address")) == 3


def test_a_start_that_crashes_for_want_of_an_address_says_so(
    make_job: Callable[..., SimulatedJob],
) -> None:
    with network(1) as net:
        job = make_job(hosts=1, processes=2, PYTHONPATH="", TF_CPP_MIN_LOG_LEVEL="3")
        job.before = lambda index: net.inside(index, own_name=False)
        job.script(START)
        assert job.run(seconds=SECONDS) == [1], job.text()
        assert job.failure()["phase"] == "starting"
        assert "own name nobody has no address" in job.failure()["reason"]


def test_a_stranger_in_the_network_changes_nothing_and_is_told_of_once(
    make_job: Callable[..., SimulatedJob],
) -> None:
    with network(4) as net:
        job = make_job(hosts=3, processes=2, PYTHONPATH="", TF_CPP_MIN_LOG_LEVEL="3",
                       LAUNCH_NONCE="5a" * 16)  # fmt: skip
        three = Replicas(job, net)
        go = Path(job.folder) / "go"
        job.script(
            START
            + "print('sum', total(10.0 ** rank))\n"
            + f"while not os.path.exists({str(go)!r}): time.sleep(0.05)\n"
            + "print('again', total(10.0 ** rank))\n"
        )
        three.start(0)
        job.until_said("workerpool0-0 is here")
        program = str(Path(__file__).with_name("stranger.py"))
        with subprocess.Popen(
            [*net.inside(3), sys.executable, program, net.address(0), "2222", job.name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as stranger:  # fmt: skip
            assert stranger.stdout is not None
            assert stranger.stdin is not None
            try:
                assert stranger.stdout.readline() == "begun\n"
                # The ranks find each other's keys while it goes on.
                three.start(1, 2)
                job.until_said("sum 111111.0", SECONDS, count=6)
            finally:
                go.touch()
                stranger.stdin.write("end\n")
                stranger.stdin.close()
            assert stranger.stdout.read() == "", "nobody without the key is told anything"
        assert job.wait(SECONDS) == [0, 0, 0], job.text()
        assert len(job.said("again 111111.0")) == 6
        (told,) = job.said("without the job's key")
        assert f"{net.address(3)} speaks to this job's rendezvous" in told
        assert not job.failures()
