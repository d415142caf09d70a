from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator

import pytest
from launch_runtime.host.rendezvous import REPORT_PATH, PortError, Rendezvous


@pytest.fixture
def rendezvous() -> Iterator[Rendezvous]:
    server = Rendezvous("127.0.0.1", 0, lambda report: {"answer": report["question"] + 1})
    yield server
    server.close()


def ask(server: Rendezvous, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_a_key_that_was_put_is_got_and_one_that_was_deleted_is_absent(
    rendezvous: Rendezvous,
) -> None:
    value = bytes(range(256))
    assert ask(rendezvous, "GET", "/global_/0")[0] == 404
    assert ask(rendezvous, "PUT", "/global_/0", value)[0] == 200
    assert ask(rendezvous, "GET", "/global_/0") == (200, value)
    assert ask(rendezvous, "GET", "/local_/0")[0] == 404
    assert ask(rendezvous, "DELETE", "/global_/0")[0] == 200
    assert ask(rendezvous, "GET", "/global_/0")[0] == 404
    assert ask(rendezvous, "DELETE", "/global_/0")[0] == 200


def test_a_report_gets_its_answer_and_nonsense_a_400(rendezvous: Rendezvous) -> None:
    assert ask(rendezvous, "POST", REPORT_PATH, b'{"question": 41}') == (200, b'{"answer": 42}')
    assert ask(rendezvous, "POST", REPORT_PATH, b"{}")[0] == 400
    assert ask(rendezvous, "POST", REPORT_PATH, b"nonsense")[0] == 400


def test_many_ranks_are_served_at_once(rendezvous: Rendezvous) -> None:
    def rank(number: int) -> None:
        for step in range(20):
            ask(rendezvous, "PUT", f"/scope/{number}", b"%d" % step)
            answers.append(ask(rendezvous, "GET", f"/scope/{number}") == (200, b"%d" % step))

    answers: list[bool] = []
    threads = [threading.Thread(target=rank, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 320
    assert all(answers)


def test_a_client_that_says_nothing_does_not_hold_up_the_others(rendezvous: Rendezvous) -> None:
    with socket.create_connection(("127.0.0.1", rendezvous.server_port)):
        assert ask(rendezvous, "GET", "/a/b")[0] == 404


def test_a_port_that_is_taken_is_named(rendezvous: Rendezvous) -> None:
    port = rendezvous.server_port
    with pytest.raises(PortError, match=f"port {port} of 127.0.0.1 .* another process listens"):
        Rendezvous("127.0.0.1", port, lambda report: {})


def test_a_port_that_was_closed_can_be_had_again_at_once() -> None:
    first = Rendezvous("127.0.0.1", 0, lambda report: {})
    port = first.server_port
    ask(first, "PUT", "/a/b", b"c")
    first.close()
    second = Rendezvous("127.0.0.1", port, lambda report: {})
    assert ask(second, "GET", "/a/b")[0] == 404
    second.close()


def test_a_report_with_the_evidence_of_64_ranks_passes_and_an_endless_one_does_not(
    rendezvous: Rendezvous,
) -> None:
    evidence = {rank: [{"pid": rank, "prints": "x" * 30_000}] for rank in range(64)}
    report = json.dumps({"question": 1, "evidence": evidence}).encode()
    assert ask(rendezvous, "POST", REPORT_PATH, report) == (200, b'{"answer": 2}')
    connection = http.client.HTTPConnection("127.0.0.1", rendezvous.server_port, timeout=10)
    try:
        connection.putrequest("POST", REPORT_PATH)
        connection.putheader("Content-Length", str(1 << 30))
        connection.endheaders()
        assert connection.getresponse().status == 400
    finally:
        connection.close()
