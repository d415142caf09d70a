"""Run with ADDRESS PORT JOB: a stranger who does to a job's rendezvous what strangers can.

Prints ``begun`` once everything was tried, and goes on until its standard input ends.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import sys

IDLE = 300  # connections that say nothing, or a letter at a time


def main(address: str, port: int, job: str) -> None:
    end = json.dumps(
        {"host": 1, "incarnation": "x", "job": job, "hosts": 3, "world_size": 6, "processes": 2,
         "began": False, "failures": [], "ended": True, "left": True}
    ).encode()  # fmt: skip
    attempts = [
        b"POST /launch/report HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(end), end),
        b"PUT /global_/0 HTTP/1.1\r\nContent-Length: 6\r\n\r\npoison",
        b"PUT /launch/keys/global_/0 HTTP/1.1\r\nContent-Length: 16000000\r\n\r\n" + bytes(65536),
        b"DELETE /launch/keys/global_/0 HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 100_000,
        bytes(range(256)) * 64,
    ]
    idle: list[socket.socket] = []
    begun = False
    while True:
        for attempt in attempts:
            throw(address, port, attempt)
        idle = [one for one in idle if is_open(one)]
        for _ in range(min(IDLE - len(idle), 60)):
            with contextlib.suppress(OSError):
                idle.append(socket.create_connection((address, port), timeout=1))
        if not begun and len(idle) > IDLE // 4:
            begun = True
            print("begun", flush=True)
        if select.select([sys.stdin], [], [], 0.01)[0]:
            return


def throw(address: str, port: int, data: bytes) -> None:
    """Whatever is answered has no body."""
    try:
        with socket.create_connection((address, port), timeout=1) as connection:
            connection.sendall(data)
            answer = connection.recv(4096)
    except OSError:
        return
    if answer and not answer.endswith(b"\r\n\r\n"):
        print("ANSWERED", answer, flush=True)


def is_open(connection: socket.socket) -> bool:
    """Says a letter more of a request that never ends."""
    try:
        connection.send(b"G")
    except OSError:
        connection.close()
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
