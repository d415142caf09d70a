"""The line between ranks and driver, over loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from launch_runtime.failures import TRAINING, Failure
from launch_runtime.host import settings
from launch_runtime.spark import link as link_module
from launch_runtime.spark.course import Course
from launch_runtime.spark.link import Link, Reception

from tests.places import ENTRYPOINTS, ROOT
from tests.waiting import until

KNOWN = {"size": 2, "host": "node", "executor": "0", "group": "m", "local_rank": 0, "gpus": []}


class Driver:
    """A driver's end, and what it took."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.full, self.turned_away = threading.Event(), 0
        told = {"LAUNCH_WORLD_SIZE": "2", "LAUNCH_INSTANCES": "2", "LAUNCH_PROCESSES": "1"}
        self.course = Course(settings.read(told, managed=False), 60.0, self._take, print)
        self.reception = Reception(self.course, 2, "127.0.0.1", print)

    def _take(self, tagged: bytes) -> bool:
        if self.full.is_set():
            self.turned_away += 1
            return False
        self.taken.append(tagged)
        return True


@pytest.fixture
def driver() -> Iterator[Driver]:
    made = Driver()
    yield made
    made.reception.close()


@pytest.fixture
def link(driver: Driver) -> Iterator[Callable[..., Link]]:
    made: list[Link] = []

    def start(rank: int, **contact: Any) -> Link:
        line = Link({**driver.reception.contact, **contact}, rank, KNOWN, lambda: None)
        line.start()
        made.append(line)
        return line

    yield start
    for line in made:
        line.stop()


def test_lines_come_whole_and_in_order_though_the_driver_had_no_room(
    driver: Driver, link: Callable[..., Link]
) -> None:
    rank = link(0)
    driver.full.set()
    os.write(rank.descriptor, b"[node/0] first\n[node/0] cut ")
    until(lambda: driver.turned_away, "lines for which there was no room")
    driver.full.clear()
    os.write(rank.descriptor, "off, ä\n".encode())
    rank.finish({"rank": 0, "exit_code": 0}, 30.0)
    assert b"".join(driver.taken).decode() == "[node/0] first\n[node/0] cut off, ä\n"
    assert driver.course.results == {0: {"rank": 0, "exit_code": 0}}


def test_lines_written_while_an_answer_was_lost_come_too(
    driver: Driver, link: Callable[..., Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    take, unheard, lost = driver.course.report, threading.Event(), []

    def take_unheard(report: dict[str, Any], now: float) -> dict[str, Any]:
        answer = take(report, now)
        if unheard.is_set():
            lost.append(report)
            raise ValueError("an answer that is lost")
        return answer

    monkeypatch.setattr(driver.course, "report", take_unheard)
    rank = link(0)
    until(lambda: driver.course.place(0)[1], "the first report")
    unheard.set()
    os.write(rank.descriptor, b"[node/0] first\n")
    until(lambda: driver.taken, "taken, and not heard of")
    os.write(rank.descriptor, b"[node/0] second\n")
    count = len(lost)
    until(lambda: len(lost) > count + 3, "reports after the second line")
    unheard.clear()
    rank.finish({"rank": 0}, 30.0)
    assert b"".join(driver.taken) == b"[node/0] first\n[node/0] second\n"


def test_a_failure_of_one_rank_is_heard_by_the_other(
    driver: Driver, link: Callable[..., Link]
) -> None:
    ranks = [link(0), link(1)]
    until(lambda: all(one.state.name for one in ranks), "both began")
    ranks[1].claim(Failure("node", "broke", TRAINING, rank=1))
    verdict = until(lambda: ranks[0].state.verdict, "the verdict")
    assert (verdict.rank, verdict.reason) == (1, "broke")


@pytest.mark.processes
def test_a_rank_knows_that_its_driver_is_gone(link: Callable[..., Link]) -> None:
    program = (
        "import json, time; from tests.entrypoints.spark.test_link import Driver; "
        "print(json.dumps(Driver().reception.contact), flush=True); time.sleep(3600)"
    )
    paths = os.pathsep.join([str(ROOT), str(ENTRYPOINTS)])
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout is not None
            contact = json.loads(process.stdout.readline())
            rank, other = link(0, **contact), link(1, **contact)
            until(lambda: rank.state.name and other.state.name, "both began")
            assert not rank.gone
        finally:
            process.kill()
    until(lambda: rank.gone, "the driver missed")
    assert rank.why_gone == "the driver is gone"


def test_a_rank_that_never_reached_its_driver_says_where_it_looked_for_it(
    link: Callable[..., Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("launch_runtime.spark.link.FIRST_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    rank = link(0, port=port)
    until(lambda: rank.gone, "given up")
    assert rank.why_gone == (
        f"the driver at 127.0.0.1:{port} could not be reached from this machine in 0.5 s "
        "([Errno 111] Connection refused): the port has to be open to all executors"
    )


def test_whoever_has_another_key_is_not_heard(driver: Driver, link: Callable[..., Link]) -> None:
    genuine, stranger = link(0), link(1, key="f" * 32)
    stranger.claim(Failure("node", "forged", TRAINING, rank=1))
    os.write(stranger.descriptor, b"[node/1] forged\n")
    until(lambda: driver.course.place(0)[1], "the genuine report")
    until(lambda: "does not have this job's key" in stranger.why_gone, "the stranger's own")
    genuine.finish({"rank": 0}, 30.0)
    assert driver.course.place(1)[1] == ""
    assert driver.course.verdict is None
    assert driver.taken == []


@pytest.mark.parametrize(
    ("address", "given", "expected"),
    [
        ("127.0.0.1", "", "127.0.0.1"),
        ("10.0.0.7", "", "0.0.0.0"),
        ("gateway", "10.0.0.7", "10.0.0.7"),
    ],
)
def test_the_driver_listens_where_it_is_told_to(
    address: str, given: str, expected: str, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []

    def listen(where: str, *_: Any) -> Any:
        heard.append(where)
        return driver.reception._rendezvous

    monkeypatch.setattr(link_module, "Rendezvous", listen)
    contact = Reception(driver.course, 2, address, print, given).contact
    assert (heard, contact["address"]) == ([expected], address)
