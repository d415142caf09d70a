from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
from launch_runtime.host.console import QUEUE_LIMIT, Console

from tests.waiting import until


class Screen:
    """A console that writes into a pipe, and what has come out of it."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        self.console = Console("host-1", self.write_end)

    def lines(self) -> list[str]:
        self.console.flush(10)
        os.set_blocking(self.read_end, False)
        try:
            return os.read(self.read_end, 1 << 20).decode().splitlines()
        except BlockingIOError:
            return []


@pytest.fixture
def screen() -> Iterator[Screen]:
    screen = Screen()
    yield screen
    os.close(screen.read_end)
    screen.console.say("wakes the writer, which finds nobody who reads")
    screen.console.flush(10)
    os.close(screen.write_end)


def test_lines_are_tagged_with_host_and_rank(screen: Screen) -> None:
    screen.console.say("launch: here")
    screen.console.rank_lines(3, [b"one", b"two"])
    assert screen.lines() == ["[host-1/agent] launch: here", "[host-1/3] one", "[host-1/3] two"]


def test_what_was_held_back_is_shown_of_the_rank_that_failed_first_alone(screen: Screen) -> None:
    screen.console.hold()
    screen.console.rank_lines(0, [b"Traceback of 0"])
    screen.console.rank_lines(1, [b"Traceback of 1"])
    assert screen.lines() == []
    screen.console.decide(1)
    screen.console.rank_lines(0, [b"more of 0"])
    screen.console.rank_lines(1, [b"more of 1"])
    screen.console.say("launch: end")
    assert screen.lines() == [
        "[host-1/1] Traceback of 1", "[host-1/1] more of 1", "[host-1/agent] launch: end",
    ]  # fmt: skip


def test_a_failure_on_another_host_silences_all_ranks(screen: Screen) -> None:
    screen.console.decide(None)
    screen.console.hold()
    screen.console.rank_lines(0, [b"a consequence"])
    assert screen.lines() == []


def test_what_the_verdict_silences_can_be_kept() -> None:
    kept: list[bytes] = []
    console = Console("host-1", dropped=kept.append)
    console.hold()
    console.rank_lines(0, [b"Traceback of 0"])
    assert kept == []
    console.decide(None)
    console.rank_lines(0, [b"one", b"two"])
    assert kept == [b"Traceback of 0", b"one", b"two"]


def test_a_stop_on_request_lets_everybody_go_on(screen: Screen) -> None:
    screen.console.hold()
    screen.console.rank_lines(0, [b"saving"])
    screen.console.open()
    screen.console.hold()  # a rank that fails on its way out is no news
    screen.console.rank_lines(1, [b"saved"])
    assert screen.lines() == ["[host-1/0] saving", "[host-1/1] saved"]


def test_a_warning_that_every_rank_gives_is_shown_once(screen: Screen) -> None:
    for rank in range(4):
        screen.console.rank_lines(rank, [b"launch: warning: the same", b"line"])
    assert [line for line in screen.lines() if "warning" in line] == [
        "[host-1/0] launch: warning: the same"
    ]


def test_warnings_without_end_take_no_memory_without_end(screen: Screen) -> None:
    for number in range(10_000):
        assert not screen.console._repeated(b"launch: warning: %d" % number)
    assert screen.console._repeated(b"launch: warning: 0")
    assert len(screen.console._warnings) <= 1000


def test_a_slow_reader_holds_up_the_ranks_and_never_the_agent(screen: Screen) -> None:
    line = b"x" * 10_000
    passed = threading.Event()

    def rank() -> None:
        for _ in range(2 * QUEUE_LIMIT // len(line)):
            screen.console.rank_lines(0, [line])
        passed.set()

    writer = threading.Thread(target=rank)
    writer.start()
    until(lambda: not screen.console.pass_on(b""), "as much as may wait to be written")
    screen.console.hold()
    screen.console.decide(0)
    screen.console.say("launch: still here")
    assert not passed.is_set()
    os.set_blocking(screen.read_end, True)
    text = b""
    while not (passed.is_set() and b"still here" in text):
        text += os.read(screen.read_end, 1 << 16)
    writer.join()
    # Drain the rest, so that nothing is left to be written.
    os.set_blocking(screen.read_end, False)


def test_a_reader_that_is_gone_stops_nothing() -> None:
    read_end, write_end = os.pipe()
    console = Console("host-1", write_end)
    os.close(read_end)
    for _ in range(1000):
        console.rank_lines(0, [b"x" * 10_000])
    console.say("launch: end")
    console.flush(10)
    os.close(write_end)
