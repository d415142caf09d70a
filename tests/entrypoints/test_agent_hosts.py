"""Hosts that are late, missing, restarted, killed, stopped or cut off."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from tests.entrypoints.simulated import HVD, SimulatedJob, free_port
from tests.places import ENTRYPOINTS
from tests.waiting import until

MakeJob = Callable[..., SimulatedJob]

TRAIN = HVD + "import time\nhvd.init()\nprint('training', hvd.rank())\ntime.sleep(1000)\n"


def test_a_late_host_is_waited_for_by_name(make_job: MakeJob) -> None:
    job = make_job(hosts=3, LAUNCH_REMINDER_SECONDS="0.3")
    job.script(HVD + "hvd.init()")
    job.start(0)
    job.start(1)
    job.until_said(r"host-1/agent\] launch: waiting for host-3")
    job.until_said(r"host-2/agent\] launch: waiting for host-3")
    assert not job.said("proof")
    job.start(2)
    assert job.wait() == [0, 0, 0]
    assert job.said("proof")


def test_a_late_first_host_is_waited_for_by_name_and_address(make_job: MakeJob) -> None:
    job = make_job(hosts=2, LAUNCH_REMINDER_SECONDS="0.3")
    job.script(HVD + "hvd.init()")
    job.start(1)
    job.until_said(r"host-2/agent\] launch: waiting for host-1 \(.*refused")
    job.start(0)
    assert job.wait() == [0, 0]


def test_a_host_that_never_comes_is_named_on_every_host(make_job: MakeJob) -> None:
    job = make_job(hosts=3, LAUNCH_JOIN_TIMEOUT="2")
    job.script("print('the script ran')")
    job.start(0)
    job.start(1)
    assert job.wait() == [1, 1]
    assert job.failure() == {
        "rank": None, "host": "host-3", "exit_code": None, "signal": None, "phase": "joining",
        "reason": "host-3 did not join within 2 s",
    }  # fmt: skip
    assert "host-3 did not join" in job.text(0)
    assert "host-3 did not join" in job.text(1)
    assert not job.said("the script ran")


def test_a_first_host_that_never_comes_is_named(make_job: MakeJob) -> None:
    job = make_job(hosts=2, LAUNCH_JOIN_TIMEOUT="1")
    job.script("print('the script ran')")
    job.start(1)
    assert job.wait() == [1]
    assert job.failure()["host"] == "host-1"
    assert f"127.0.0.1:{job.port}" in job.failure()["reason"]


def test_a_host_that_starts_again_in_the_middle_ends_the_job(make_job: MakeJob) -> None:
    job = make_job(hosts=3)
    job.script(TRAIN)
    job.start_all()
    job.until_said("training", count=3)
    job.agents[1].kill()
    job.agents[1].wait()
    job.start(1)
    assert job.wait() == [1, 1, 1]
    assert job.failure()["host"] == "host-2"
    assert "started again while the job ran" in job.failure()["reason"]
    assert not job.processes_of_ranks()


def test_a_first_host_that_starts_again_in_the_middle_ends_the_job(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    job.script(TRAIN)
    job.start_all()
    job.until_said("training", count=2)
    job.agents[0].kill()
    job.agents[0].wait()
    job.start(0)
    assert job.wait() == [1, 1]
    for failure in job.failures():
        assert failure["host"] == "host-1"
        assert "started again while the job ran" in failure["reason"]
    assert not job.processes_of_ranks()


def test_a_managed_job_that_lost_a_host_may_be_tried_again(make_job: MakeJob) -> None:
    spec = ('{"cluster": {"workerpool0": ["127.0.0.1:%d"], "workerpool1": ["127.0.0.1:%d"]}, '
            '"task": {"type": "workerpool%d", "index": 0}}')  # fmt: skip
    job = make_job(hosts=2)
    job.script(TRAIN)
    cluster = {index: spec % (job.port, job.port, index) for index in range(2)}
    for index in range(2):
        job.start(index, LAUNCH_CLUSTER="", CLUSTER_SPEC=cluster[index])
    job.until_said("training", count=2)
    job.agents[1].kill()
    job.agents[1].wait()
    job.start(1, LAUNCH_CLUSTER="", CLUSTER_SPEC=cluster[1])
    assert job.wait() == [6, 6]
    assert job.failure()["host"] == "workerpool1-0"


@pytest.mark.parametrize("index", [0, 1])
def test_ranks_end_with_their_agent_and_the_job_ends_too(index: int, make_job: MakeJob) -> None:
    job = make_job(hosts=2, LAUNCH_HOST_TIMEOUT="3")
    # A rank that cannot run any code of its own, and has a child.
    busy = "import re, subprocess\nsubprocess.Popen(['sleep', '1000'])\n"
    job.script(busy + TRAIN.replace("time.sleep(1000)", "re.match(r'(a+)+$', 'a' * 60 + 'b')"))
    job.start_all()
    job.until_said("training", count=2)
    job.agents[index].kill()
    mine = lambda: [c for c in job.processes_of_ranks() if c]  # noqa: E731
    until(lambda: not mine(), "the end of all ranks")
    codes = job.wait()
    assert codes[index] == -signal.SIGKILL
    assert codes[1 - index] == 1
    assert job.failure()["host"] == f"host-{index + 1}"
    assert "was silent" in job.failure()["reason"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("index", [0, 1])
def test_a_signal_reaches_all_ranks_and_all_hosts(
    number: signal.Signals, code: int, index: int, make_job: MakeJob
) -> None:
    job = make_job(hosts=2, LAUNCH_STOP_SECONDS="20")
    job.script(
        HVD
        + f"""
import signal, sys, time
hvd.init()
def stop(*_):
    print("saving", hvd.rank())
    time.sleep(0.5)
    print("saved", hvd.rank())
    sys.exit(0)
signal.signal({int(number)}, stop)
print("training", hvd.rank())
time.sleep(1000)
"""
    )
    job.start_all()
    job.until_said("training", count=2)
    job.agents[index].send_signal(number)
    assert job.wait() == [code, code]
    assert len(job.said(r"/\d\] saved")) == 2
    assert job.failures()[0]["reason"] == f"stopped by {number.name}"
    assert job.failures()[0]["host"] == f"host-{index + 1}"
    assert not job.processes_of_ranks()


def test_an_interrupt_shows_no_traceback(make_job: MakeJob) -> None:
    job = make_job(hosts=1, processes=2)
    job.script(TRAIN)
    job.start_all()
    job.until_said("training", count=2)
    job.agents[0].send_signal(signal.SIGINT)
    assert job.wait() == [130]
    assert not job.said("Traceback")


def test_a_second_signal_does_not_wait_for_the_grace(make_job: MakeJob) -> None:
    job = make_job(hosts=1, LAUNCH_STOP_SECONDS="1000")
    job.script("import signal\nsignal.signal(signal.SIGTERM, lambda *_: print('not yet'))\n"
               + TRAIN.replace("time.sleep(1000)", "\nwhile True: time.sleep(1000)"))  # fmt: skip
    job.start_all()
    job.until_said("training")
    job.agents[0].terminate()
    job.until_said("not yet")
    job.agents[0].terminate()
    assert job.wait() == [143]
    assert not job.processes_of_ranks()


def test_a_signal_ends_a_host_that_still_waits(make_job: MakeJob) -> None:
    job = make_job(hosts=2, LAUNCH_REMINDER_SECONDS="0.2")
    job.script(TRAIN)
    for index in (0, 1):
        job.start(index)
        job.until_said(f"host-{index + 1}/agent")
        if index == 0:
            job.agents[0].terminate()
            assert job.wait() == [143]
            del job.agents[0]
    job.agents[1].terminate()
    assert job.wait() == [143]


def test_a_job_whose_launcher_is_gone_ends(make_job: MakeJob) -> None:
    job = make_job(hosts=1, processes=2)
    job.script(TRAIN)
    read_end, write_end = os.pipe()
    output = (job.folder / "agent-0.log").open("ab")
    job.agents[0] = subprocess.Popen(
        [sys.executable, str(ENTRYPOINTS / "agent.py"), "train.py"], stdout=output,
        pass_fds=(read_end,), stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
        env={**job.agent_environment(0), "LAUNCH_LIFELINE_FD": str(read_end)},
    )  # fmt: skip
    output.close()
    os.close(read_end)
    job.until_said("training", count=2)
    os.close(write_end)
    assert job.wait() == [143]
    assert not job.processes_of_ranks()


class Link:
    """A way to the first host that can be cut like a cable: nothing passes, nothing is closed."""

    def __init__(self, port: int):
        self.whole = threading.Event()
        self.whole.set()
        self._to = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._sockets: list[socket.socket] = [self._server]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.whole.set()
        for each in self._sockets:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
                self.whole.wait()
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                continue_ = self._server.fileno() >= 0
                if continue_:
                    continue
                return
            self._sockets += [near, far]
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                self.whole.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return


def test_a_network_that_drops_everything_ends_the_job_on_both_sides(make_job: MakeJob) -> None:
    job = make_job(hosts=2, LAUNCH_HOST_TIMEOUT="4")
    job.script(TRAIN)
    link = Link(job.port)
    try:
        job.start(0)
        job.start(1, LAUNCH_CLUSTER=job.cluster(1).replace(str(job.port), str(link.port)))
        job.until_said("training", count=2)
        link.whole.clear()
        until(lambda: not job.processes_of_ranks(), "the end of all ranks")
        assert job.wait() == [1, 1]
    finally:
        link.close()
    assert "host-2 was silent" in job.text(0)
    assert "host-1 was silent" in job.text(1)


def test_a_rank_that_fails_behind_a_cut_ends_its_host_without_the_first(make_job: MakeJob) -> None:
    job = make_job(hosts=2, LAUNCH_HOST_TIMEOUT="1000")
    job.script(TRAIN)
    link = Link(job.port)
    try:
        job.start(0)
        job.start(1, LAUNCH_CLUSTER=job.cluster(1).replace(str(job.port), str(link.port)))
        job.until_said("training", count=2)
        link.whole.clear()
        os.kill(job.guard(1), signal.SIGKILL)
        until(lambda: job.agents[1].poll() is not None, "the end of host-2")
    finally:
        link.close()
    assert job.agents[1].returncode == 137
    assert job.failures()[0]["rank"] == 1


def test_a_port_that_is_taken_is_one_line_and_code_2(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    job.script("print('the script ran')")
    with socket.create_server(("127.0.0.1", job.port)):
        job.start(0)
        assert job.wait() == [2]
    taken = f"port {job.port} of 127.0.0.1 cannot be used for the rendezvous"
    assert job.lines() == [f"[host-1/agent] launch: {taken}: another process listens on it"]


# environment (a value of "" takes the variable out), arguments; words
REFUSED = {
    "no script of that name": ({}, ["other.py"], "script other.py: no such file"),
    "a script outside": ({}, ["../train.py"], "outside of the source folder"),
    "no source folder": (
        {"LAUNCH_SOURCE_DIR": "/nonexistent"}, ["train.py"], "/nonexistent is not a folder",
    ),
    "no world size": ({"LAUNCH_WORLD_SIZE": ""}, ["train.py"], "LAUNCH_WORLD_SIZE is not set"),
    "processes that are no number": (
        {"LAUNCH_PROCESSES": "two"}, ["train.py"], "LAUNCH_PROCESSES: found 'two'",
    ),
    "a timeout that is none": (
        {"LAUNCH_JOIN_TIMEOUT": "soon"}, ["train.py"], "LAUNCH_JOIN_TIMEOUT: found 'soon'",
    ),
    "a pin that is none": ({"LAUNCH_PIN_GPU": "yes"}, ["train.py"], "LAUNCH_PIN_GPU: found 'yes'"),
    "a cluster that is no JSON": ({"LAUNCH_CLUSTER": "{"}, ["train.py"], "LAUNCH_CLUSTER is not"),
    "logs that cannot be written": (
        {"LAUNCH_LOG_DIR": "/dev/null/logs"}, ["train.py"], "LAUNCH_LOG_DIR: cannot write",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_start_is_one_line_and_code_2(case: str, make_job: MakeJob) -> None:
    environment, arguments, words = REFUSED[case]
    job = make_job(hosts=1)
    job.script("print('the script ran')")
    job.start(0, script=arguments[0], **environment)
    assert job.wait() == [2]
    assert len(job.lines()) == 1
    assert words in job.lines()[0]


def test_a_host_that_cannot_start_its_ranks_is_not_waited_for(make_job: MakeJob) -> None:
    job = make_job(hosts=2)
    job.script("print('the script ran')")
    job.start(0)
    job.start(1, script="other.py")
    assert job.wait() == [2, 2], job.text()
    assert job.failure()["host"] == "host-2"
    assert "no such file" in job.failure()["reason"]
    assert not job.said("the script ran")


def test_the_agent_of_another_job_on_the_port_is_named(make_job: MakeJob) -> None:
    job = make_job(hosts=2, LAUNCH_REMINDER_SECONDS="0.3", LAUNCH_JOIN_TIMEOUT="3")
    job.script(TRAIN)
    job.start(0)
    job.start(1, LAUNCH_JOB="another")
    job.until_said("this is the rendezvous of job 'job-.*', not of 'another'")
    assert job.wait() == [1, 1]


def test_a_single_replica_needs_no_cluster_and_no_port(make_job: MakeJob) -> None:
    job = make_job(hosts=1, processes=2, LAUNCH_CLUSTER="", TF_CONFIG="{}", RANK="0")
    job.port = free_port()
    job.script(
        HVD
        + """
import os
hvd.init()
print("left", [name for name in ("TF_CONFIG", "RANK", "CLUSTER_SPEC") if name in os.environ])
"""
    )
    with socket.create_server(("127.0.0.1", job.port)):
        job.start(0)
        assert job.wait() == [0]
    proof = "[workerpool0-0/0] launch: proof: world size 2: 1 host x 2 ranks, Gloo"
    assert job.said("proof") == [proof, f"{proof}; no training seen"]
    assert len(job.said(r"left \[\]")) == 2
