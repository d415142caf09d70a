"""The first host's rendezvous as other hosts, and as strangers, find it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from launch_runtime.host import network
from launch_runtime.host.peers import door as doors
from launch_runtime.host.peers import rendezvous, signatures, wire
from launch_runtime.host.peers.door import Door, Line, PortError
from launch_runtime.host.peers.first_host import FirstHost, ImpostorError
from launch_runtime.host.peers.keys import Keys
from launch_runtime.host.peers.ranks_door import RanksDoor
from launch_runtime.host.peers.rendezvous import REPORT_PATH, Rendezvous, SharedKeys
from launch_runtime.host.peers.signatures import Key, Question
from launch_runtime.host.peers.waiting_room import MOST

from tests.entrypoints.simulated import free_port
from tests.waiting import until

NONCE = "00112233445566778899aabbccddeeff"
KEY, OTHER = Key(NONCE), Key(NONCE[::-1])
START = "ab" * 16
BARE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Meeting:
    """A rendezvous, and what it says."""

    def __init__(self, port: int = 0, start: str = START):
        self.said: list[str] = []
        self.reports: list[Any] = []
        self.keys = SharedKeys(Keys(world_size=4, processes=2))
        self.rendezvous = Rendezvous(
            "127.0.0.1", port, KEY, start, 3, self._answer, self.keys, self.said.append
        )
        self.port = self.rendezvous.port

    def _answer(self, report: Any) -> Any:
        self.reports.append(report)
        return {"answer": report["question"] + 1}

    def host(self, sender: int = 1, key: Key = KEY, start: str = "cd" * 16) -> FirstHost:
        return FirstHost("127.0.0.1", [self.port], key, sender, start, self.said.append)

    def throw(self, data: bytes) -> bytes:
        """What a stranger gets for it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as stranger:
            with contextlib.suppress(OSError):
                stranger.sendall(data)
            return read_all(stranger)


def read_all(connection: socket.socket) -> bytes:
    found = b""
    with contextlib.suppress(ConnectionError):
        while data := connection.recv(1 << 16):
            found += data
    return found


@pytest.fixture
def meeting() -> Iterator[Meeting]:
    found = Meeting()
    yield found
    found.rendezvous.close()


def question(number: int, body: bytes, key: Key = KEY, **changed: Any) -> bytes:
    asked = Question(
        "POST", REPORT_PATH, 1, "ef" * 16, number, START, len(body), signatures.digest(body)
    )._replace(**changed)
    return wire.write_question(asked, key.of_question(asked)) + body


def test_a_report_gets_its_answer_and_nonsense_of_a_host_a_reason(meeting: Meeting) -> None:
    host = meeting.host()
    assert host.report({"question": 41}) == {"answer": 42}
    assert host.report({"question": 1}) == {"answer": 2}
    with pytest.raises(ValueError, match="KeyError"):
        host.report({})
    assert host.report({"question": 2}) == {"answer": 3}
    assert meeting.said == []


def test_a_report_with_the_evidence_of_64_ranks_passes(meeting: Meeting) -> None:
    evidence = {str(rank): [{"pid": rank, "prints": "x" * 30_000}] for rank in range(64)}
    assert meeting.host().report({"question": 1, "evidence": evidence}) == {"answer": 2}
    assert meeting.reports[-1]["evidence"] == evidence


def test_keys_of_one_host_are_there_for_another(meeting: Meeting) -> None:
    one, other = meeting.host(1), meeting.host(2)
    value = bytes(range(256))
    assert one.ask_for_key("PUT", "/global_/0", value) == (200, b"")
    assert other.ask_for_key("GET", "/global_/0", b"") == (200, value)
    assert other.ask_for_key("GET", "/local_/0", b"")[0] == 404
    assert one.ask_for_key("DELETE", "/global_/0", b"")[0] == 200
    assert other.ask_for_key("GET", "/global_/0", b"")[0] == 404


STRANGERS: dict[str, Callable[[], bytes]] = {
    "garbage": lambda: bytes(range(256)) * 20,
    "a head without an end": lambda: b"GET /" + b"a" * 100_000,
    "an unsigned report": lambda: b'POST /launch/report HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}',
    "a poisoned key": lambda: b"PUT /global_/0 HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
    "a report with another key": lambda: question(1, b'{"question": 1}', OTHER),
    "a host that is not there": lambda: question(1, b'{"question": 1}', sender=3),
}  # fmt: skip


@pytest.mark.parametrize("case", STRANGERS)
def test_a_stranger_gets_a_bare_status_and_is_told_of_once(case: str, meeting: Meeting) -> None:
    for _ in range(3):
        assert meeting.throw(STRANGERS[case]()) in (BARE, b"")
    assert meeting.reports == []
    assert meeting.keys.ask("GET", "/global_/0", b"", 0)[0] == 404
    assert len(until(lambda: meeting.said, "a word")) == 1
    assert "127.0.0.1 speaks to this job's rendezvous without the job's key" in meeting.said[0]


def test_a_connection_carries_further_questions_whatever_the_answers_were(
    meeting: Meeting,
) -> None:
    spoken = {
        b"404": question(1, b"", method="GET", path="/launch/other"),
        b"400": question(2, b"{}"),
        b"200": question(3, b'{"question": 1}'),
    }
    with socket.create_connection(("127.0.0.1", meeting.port), timeout=60) as host:
        line = Line(host)
        for status, text in spoken.items():
            host.sendall(text)
            head = line.head(time.monotonic() + 60)
            assert head.split()[1] == status
            line.body(wire.read_answer(head)[0].size, time.monotonic() + 60)


def test_the_largest_value_that_the_keys_take_passes(meeting: Meeting) -> None:
    value = bytes(meeting.keys.longest_value)
    assert meeting.host().ask_for_key("PUT", "/global_/0", value)[0] == 200


def test_a_host_asks_over_one_connection_while_it_is_good(meeting: Meeting) -> None:
    host, connect = meeting.host(), FirstHost._connect
    made: list[Line] = []

    def counting(self: FirstHost, deadline: float) -> Line:
        made.append(connect(self, deadline))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FirstHost, "_connect", counting)
        for _ in range(3):
            host.report({"question": 1})
        assert len(made) == 2, "one to learn its start, one for all reports"
        host._to = "99" * 16
        with pytest.raises(ConnectionError, match="was started again"):
            host.report({"question": 1})
        assert host._kept == [], "a connection with a refusal is no good one"
        assert host.report({"question": 1}) == {"answer": 2}
        assert len(made) == 3, "the first host ends a connection that was meant for another start"


def test_no_more_than_64_connections_are_kept_and_the_others_closed(meeting: Meeting) -> None:
    host, closed = meeting.host(), []
    for number in range(66):
        host._keep(SimpleNamespace(close=lambda number=number: closed.append(number)), True)
    assert len(host._kept) == 64
    assert closed == [64, 65]


def test_a_connection_that_was_closed_meanwhile_is_replaced(
    meeting: Meeting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendezvous, "_IDLE_SECONDS", 0.0)
    host = meeting.host()
    for number in range(5):
        assert host.report({"question": number}) == {"answer": number + 1}
    assert len(meeting.reports) == 5


def test_the_first_hosts_name_is_looked_up_again_only_after_it_gave_no_answer(
    meeting: Meeting, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def resolve(name: str) -> str:
        names.append(name)
        return "127.0.0.1"

    monkeypatch.setattr(network, "resolve", resolve)
    host = FirstHost("first.example", [meeting.port], KEY, 1, "cd" * 16, meeting.said.append)
    for _ in range(3):
        host._kept.clear()
        host.report({"question": 1})
    assert names == ["first.example"]
    meeting.rendezvous.close()
    host._forget()
    with pytest.raises(OSError):  # noqa: PT011 - whatever the system says
        host.report({"question": 1})
    assert len(names) == 2


def test_the_next_port_is_tried_where_nobody_of_the_job_answers(meeting: Meeting) -> None:
    ports = [free_port(), free_port(), meeting.port]
    host = FirstHost("127.0.0.1", ports, KEY, 1, "cd" * 16, meeting.said.append)
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError):
            host.report({"question": 1})
    for _ in range(2):
        assert host.report({"question": 1}) == {"answer": 2}
    assert meeting.said == []


def test_an_impostor_is_named_by_the_port_at_which_it_answers(meeting: Meeting) -> None:
    ports, told = [free_port(), meeting.port, free_port()], []
    host = FirstHost("127.0.0.1", ports, OTHER, 1, "cd" * 16, told.append)
    with pytest.raises(ConnectionRefusedError):
        host.report({"question": 1})
    with pytest.raises(ImpostorError):
        host.report({"question": 1})
    (line,) = told
    assert f"at 127.0.0.1:{meeting.port} does not have this job's key" in line


def test_a_genuine_answer_that_is_too_large_is_not_read() -> None:
    def serve(head: bytes, line: Line) -> None:
        answer = signatures.Answer(200, START, (64 << 20) + 1, signatures.digest(b""))
        asked = wire.read_question(head)[1]
        line.send(wire.write_answer(answer, KEY.of_answer(asked, answer)), time.monotonic() + 60)

    door = Door("127.0.0.1", 0, lambda head, address: head, serve)
    try:
        host = FirstHost("127.0.0.1", [door.port], KEY, 1, "cd" * 16, lambda _: None)
        with pytest.raises(ValueError, match="an answer of 67108865 bytes"):
            host.report({"question": 1})
    finally:
        door.close()


def test_where_no_thread_can_be_started_that_is_said_once(
    meeting: Meeting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise RuntimeError("can't start new thread")

    threads = SimpleNamespace(Thread=lambda **_: SimpleNamespace(start=refuse))
    with monkeypatch.context() as patched:
        patched.setattr(doors, "threading", threads)
        for number in (1, 2):
            assert meeting.throw(question(number, b'{"question": 1}')) == b""
        (line,) = meeting.said
        assert "starts no more threads for the job (ulimit -u" in line
    assert meeting.host().report({"question": 1}) == {"answer": 2}


def test_a_report_that_was_heard_is_not_heard_again(meeting: Meeting) -> None:
    spoken = question(1, b'{"question": 1}')
    with socket.create_connection(("127.0.0.1", meeting.port), timeout=60) as host:
        host.sendall(spoken)
        assert b"200" in Line(host).head(time.monotonic() + 60)
    assert meeting.throw(spoken) == BARE
    assert len(meeting.reports) == 1


def test_a_report_with_another_body_is_not_heard(meeting: Meeting) -> None:
    spoken = question(1, b'{"question": 1}').replace(b'"question": 1', b'"question": 2')
    assert meeting.throw(spoken) == b""
    assert meeting.reports == []


@pytest.mark.parametrize(
    ("method", "path", "size"),
    [
        ("POST", REPORT_PATH, 1 << 30),
        ("POST", REPORT_PATH, 96 * 1024 * 1024 + 1),
        ("PUT", "/launch/keys/global_/0", 16 << 20),
    ],
)
def test_an_endless_body_is_not_waited_for_though_a_host_promises_it(
    method: str, path: str, size: int, meeting: Meeting
) -> None:
    assert meeting.throw(question(1, b"", method=method, path=path, size=size)) == b""
    assert meeting.reports == []


def test_what_was_meant_for_another_start_of_the_first_host_is_not_acted_upon(
    meeting: Meeting,
) -> None:
    for word in ("99" * 16, "ff" * 16):
        for _ in range(2):  # it may be a replay, which is told no less
            heard = meeting.throw(question(1, b"", to=word))
            assert heard.startswith(b"HTTP/1.1 401")
    assert meeting.reports == []


def test_a_first_host_that_was_started_again_is_found_again(meeting: Meeting) -> None:
    host = meeting.host()
    assert host.report({"question": 1}) == {"answer": 2}
    meeting.rendezvous.close()
    second = Meeting(port=meeting.port, start="ba" * 16)
    host._forget()  # connections of a process that is gone are gone with it
    try:
        host._to = START
        with pytest.raises(ConnectionError, match="was started again"):
            host.report({"question": 1})
        assert host.report({"question": 1}) == {"answer": 2}
    finally:
        second.rendezvous.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        wire.write_answer(signatures.Answer(200, START, 0, signatures.digest(b"")), "0" * 64),
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["unsigned", "another signature", "nonsense", "a bare status"],
)
def test_an_impostor_is_not_believed_and_told_of_once(answer: bytes) -> None:
    said: list[str] = []

    def serve(head: bytes, line: Line) -> None:
        line.send(answer, time.monotonic() + 60)

    door = Door("127.0.0.1", 0, lambda head, address: head, serve)
    ports = [door.port, door.port, free_port()]
    host = FirstHost("127.0.0.1", ports, KEY, 1, "cd" * 16, said.append)
    try:
        for _ in range(2):
            with pytest.raises(ImpostorError):
                host.report({"question": 1})
    finally:
        door.close()
    assert len(said) == 1
    assert f"127.0.0.1:{door.port} does not have this job's key" in said[0]


def test_a_fresh_connection_that_ends_without_an_answer_is_no_reason_to_ask_again() -> None:
    asked: list[bytes] = []
    door = Door("127.0.0.1", 0, lambda head, address: head, lambda head, line: asked.append(head))
    host = FirstHost("127.0.0.1", [door.port], KEY, 1, "cd" * 16, lambda _: None)
    try:
        with pytest.raises(ConnectionError):
            host.report({"question": 1})
    finally:
        door.close()
    assert len(asked) == 1


def test_an_answer_to_an_earlier_question_is_not_believed(meeting: Meeting) -> None:
    """An impostor that has listened knows genuine answers, to other questions."""
    heard: list[bytes] = []
    host = meeting.host()
    real = Line.head

    def listening(self: Line, deadline: float) -> bytes:
        heard.append(real(self, deadline))
        return heard[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Line, "head", listening)
        host.report({"question": 1})
    answers = [one for one in heard if one.startswith(b"HTTP/1.1 200")]
    assert answers

    def serve(head: bytes, line: Line) -> None:
        line.send(answers[0] + wire.END_OF_HEAD + b'{"answer": 2}', time.monotonic() + 60)

    door = Door("127.0.0.1", 0, lambda head, address: head, serve)
    try:
        deceived = FirstHost("127.0.0.1", [door.port], KEY, 1, "cd" * 16, meeting.said.append)
        with pytest.raises(ImpostorError):
            deceived.report({"question": 1})
    finally:
        door.close()


def test_an_answer_that_was_changed_on_its_way_is_not_believed(meeting: Meeting) -> None:
    real = Line.body

    def changed(self: Line, size: int, deadline: float) -> bytes:
        return real(self, size, deadline).replace(b'"answer": 2', b'"answer": 3')

    host = meeting.host()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Line, "body", changed)
        with pytest.raises(ImpostorError, match="changed on its way"):
            host.report({"question": 1})
    assert host.report({"question": 1}) == {"answer": 2}


def test_strangers_that_say_nothing_hold_nobody_up(meeting: Meeting) -> None:
    strangers = [socket.create_connection(("127.0.0.1", meeting.port)) for _ in range(300)]
    try:
        strangers[-1].sendall(b"POST /launch/re")
        host = meeting.host()
        for number in range(5):
            assert host.report({"question": number}) == {"answer": number + 1}
        assert len(meeting.rendezvous._door._guests) <= MOST
        until(lambda: not meeting.rendezvous._door._guests, "the end of their patience")
    finally:
        for stranger in strangers:
            stranger.close()


def test_many_ranks_of_many_hosts_are_served_at_once(meeting: Meeting) -> None:
    hosts = [meeting.host(sender, start=f"{sender}{sender}" * 16) for sender in (0, 1, 2)]

    def rank(number: int) -> None:
        host = hosts[number % 3]
        for step in range(20):
            host.ask_for_key("PUT", f"/scope/{number}", b"%d" % step)
            good.append(host.ask_for_key("GET", f"/scope/{number}", b"") == (200, b"%d" % step))

    good: list[bool] = []
    threads = [threading.Thread(target=rank, args=(number,)) for number in range(15)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert good == [True] * 300


def test_a_key_that_comes_meanwhile_is_given_at_once(meeting: Meeting) -> None:
    threading.Timer(0.05, meeting.keys.ask, ("PUT", "/a/b", b"late", 0)).start()

    def ask() -> bytes | None:
        status, value = meeting.host().ask_for_key("GET", "/a/b", b"")
        return value if status == 200 else None

    assert until(ask, "the key") == b"late"


def test_a_port_that_is_taken_is_named(meeting: Meeting) -> None:
    with pytest.raises(PortError, match=f"port {meeting.port} of 127.0.0.1 .* another process"):
        Meeting(port=meeting.port)


def test_a_port_that_was_closed_can_be_had_again_at_once() -> None:
    first = Meeting(port=free_port())
    first.host().report({"question": 1})
    first.rendezvous.close()
    second = Meeting(port=first.port)
    assert second.host().report({"question": 1}) == {"answer": 2}
    second.rendezvous.close()


class Ranks:
    """A host's own door for its ranks, in front of a meeting's keys."""

    def __init__(self, meeting: Meeting):
        self.deaf = 0
        self._host = meeting.host()
        self.door = RanksDoor(self._ask, meeting.keys.longest_value)

    def _ask(self, method: str, key: str, value: bytes) -> tuple[int, bytes]:
        if self.deaf:
            self.deaf -= 1
            raise OSError("the network is gone for a moment")
        return self._host.ask_for_key(method, key, value)

    def ask(self, method: str, path: str, value: bytes = b"") -> tuple[int, bytes]:
        """As Horovod's client does: address, port and path are made of two variables."""
        address, port = self.door.meeting
        where, _, word = address.partition("/")
        name, _, number = where.partition(":")
        head = f"{method} /{word}:{port}{path} HTTP/1.1\r\nHost: {name}\r\n"
        head += f"Content-Length: {len(value)}\r\n\r\n" if value else "\r\n"
        with socket.create_connection((name, int(number)), timeout=60) as rank:
            rank.sendall(head.encode() + value)
            found, _, body = read_all(rank).partition(b"\r\n\r\n")
        return int(found.split()[1]), body


@pytest.fixture
def ranks(meeting: Meeting) -> Iterator[Ranks]:
    found = Ranks(meeting)
    yield found
    found.door.close()


def test_a_rank_asks_its_own_agent_which_carries_the_keys_on(
    ranks: Ranks, meeting: Meeting
) -> None:
    assert ranks.ask("PUT", "/global_/0", b"here")[0] == 200
    assert meeting.keys.ask("GET", "/global_/0", b"", 0) == (200, b"here")
    assert ranks.ask("GET", "/global_/0") == (200, b"here")
    assert ranks.ask("GET", "/global_/1") == (404, b"")
    assert ranks.ask("DELETE", "/global_/0")[0] == 200
    assert ranks.ask("GET", "/global_/0")[0] == 404


def test_a_rank_waits_while_the_first_host_does_not_answer(ranks: Ranks) -> None:
    ranks.deaf = 3
    assert ranks.ask("PUT", "/global_/0", b"here")[0] == 200


def test_whoever_does_not_know_the_ranks_path_gets_a_status_that_is_no_absent_key(
    ranks: Ranks, meeting: Meeting
) -> None:
    port = ranks.door.meeting.port
    for path in ("/global_/0", f"/{'0' * 32}:{port}/global_/0", ""):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as stranger:
            stranger.sendall(f"PUT {path} HTTP/1.1\r\nContent-Length: 1\r\n\r\nx".encode())
            assert read_all(stranger).startswith(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0")
    assert meeting.keys.ask("GET", "/global_/0", b"", 0)[0] == 404


def test_a_value_that_is_too_large_is_refused_before_it_is_read(ranks: Ranks) -> None:
    assert ranks.ask("PUT", "/a/b", bytes(1 << 20))[0] == 413


def test_what_a_host_says_is_json_and_nothing_of_the_key(meeting: Meeting) -> None:
    sent = question(1, json.dumps({"question": 1}).encode())
    assert NONCE.encode() not in sent
