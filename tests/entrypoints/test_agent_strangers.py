"""Jobs beside strangers who can reach their ports, and beside jobs with another nonce."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.entrypoints.simulated import HVD, SimulatedJob
from tests.waiting import until

MakeJob = Callable[..., SimulatedJob]

NONCE = "00112233445566778899aabbccddeeff"
# What a rank finds in the environment of its agent, and of every process that it may look at.
LOOK = """
import glob, os
hvd.init()
NONCE = "REVERSED"[::-1].encode()
def read(path):
    try:
        return open(path, "rb").read()
    except OSError:
        return b""
agent = read("/proc/%d/environ" % os.getppid())
print("AGENT", b"LAUNCH_JOB=" in agent, b"LAUNCH_NONCE=" in agent)
print("SEEN", any(NONCE in read(path) for path in glob.glob("/proc/[0-9]*/environ")))
"""


@pytest.mark.parametrize("hosts", [1, 2])
def test_no_rank_finds_the_nonce_in_any_environment_on_its_host(
    hosts: int, make_job: MakeJob
) -> None:
    nonce = f"{hosts:032x}"
    job = make_job(hosts=hosts, LAUNCH_NONCE=nonce)
    job.script(HVD + LOOK.replace("REVERSED", nonce[::-1]))
    assert job.run() == [0] * hosts, job.text()
    assert len(job.said("AGENT True True")) == hosts, "its name stays, its value does not"
    assert len(job.said("SEEN False")) == hosts
    assert nonce not in job.text()


def test_a_host_with_another_nonce_neither_joins_nor_ends_the_job(make_job: MakeJob) -> None:
    job = make_job(hosts=2, LAUNCH_NONCE=NONCE, LAUNCH_REMINDER_SECONDS="0.3")
    job.script(HVD + "hvd.init()")
    job.start(0)
    job.start(1, LAUNCH_NONCE=NONCE[::-1], LAUNCH_JOB=job.name)
    job.until_said(r"host-2/agent\] launch: waiting for host-1 \(whoever answers does not have")
    assert len(job.said("does not have this job's key, and is ignored")) == 1
    assert len(job.said("without the job's key: it gets no answer")) == 1
    job.agents[1].kill()
    job.agents[1].wait()
    job.start(1)
    assert job.wait() == [0, 0], job.text()


@contextlib.contextmanager
def impostor(port: int) -> Iterator[list[bytes]]:
    """Answers every report as a first host without a key would."""
    heard: list[bytes] = []
    body = b'{"incarnation": "x", "began": true, "missing": [], "verdict": null, "finished": true}'
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    server = socket.create_server(("127.0.0.1", port))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                heard.append(connection.recv(4096))
                connection.sendall(reply)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield heard
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def test_an_impostor_before_the_first_host_is_not_believed(make_job: MakeJob) -> None:
    job = make_job(hosts=2, LAUNCH_NONCE=NONCE, LAUNCH_REMINDER_SECONDS="0.3")
    job.script(HVD + "hvd.init()\nprint('it ran')\n")
    with impostor(job.port) as heard:
        job.start(1)
        job.until_said("is ignored")
        until(lambda: len(heard) > 2, "further questions")
    job.start(0)
    assert job.wait() == [0, 0], job.text()
    assert len(job.said("is ignored")) == 1
    assert len(job.said("it ran")) == 2


def test_strangers_who_throw_everything_at_the_port_change_nothing(make_job: MakeJob) -> None:
    job = make_job(hosts=2, LAUNCH_NONCE=NONCE)
    go = Path(job.folder) / "go"
    job.script(
        HVD
        + f"import os, time\nhvd.init()\nprint('training')\nwhile not os.path.exists({str(go)!r}):"
        "\n    time.sleep(0.05)\n"
    )
    job.start_all()
    job.until_said("training", count=2)
    end = b'{"host": 1, "incarnation": "x", "job": "%s", "failures": []}' % job.name.encode()
    idle = [socket.create_connection(("127.0.0.1", job.port), timeout=60) for _ in range(200)]
    for data in (
        b"POST /launch/report HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(end) + end,
        b"PUT /global_/0 HTTP/1.1\r\nContent-Length: 16000000\r\n\r\n" + bytes(100_000),
        bytes(range(256)) * 100,
    ):
        for _ in range(20):
            stranger = socket.create_connection(("127.0.0.1", job.port), timeout=60)
            with stranger, contextlib.suppress(OSError):
                stranger.sendall(data)
                assert stranger.recv(4096).split(b"\r\n\r\n")[1:] in ([b""], [])
    go.touch()
    assert job.wait() == [0, 0], job.text()
    for stranger in idle:
        stranger.close()
    assert len(job.said("without the job's key")) == 1
    assert not job.failures()
