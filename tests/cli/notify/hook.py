"""A webhook on loopback that answers as it is told, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HANGS, TRICKLES, HUGE, NONSENSE = "hangs", "trickles", "huge", "nonsense"


class Hook:
    """Answers with the codes it has, one after another, then with 200.

    Attributes:
        address: Where it listens, with a token in its path.
        got: The bodies that came, parsed.
    """

    def __init__(self, *answers: int | str):
        self.answers, self.got = list(answers), list[Any]()
        self.over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}/services/T0KEN"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def hook(*answers: int | str) -> Iterator[Hook]:
    """A webhook that gives these answers."""
    found = Hook(*answers)
    found.start()
    try:
        yield found
    finally:
        found.stop()


def _handler(owner: Hook) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            owner.got.append(json.loads(body))
            answer = owner.answers.pop(0) if owner.answers else 200
            if answer == HANGS:
                owner.over.wait()
            elif answer == TRICKLES:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not owner.over.wait(0.05):
                    self.wfile.write(b".")
                    self.wfile.flush()
            elif answer == NONSENSE:
                self.wfile.write(b"220 mail ready\r\n")
            elif answer == HUGE:
                self._huge()
            else:
                self.send_response(int(answer))
                if 300 <= int(answer) < 400:
                    self.send_header("Location", f"http://localhost:{owner.port}/elsewhere")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"ok")

        def _huge(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                while not owner.over.is_set():
                    self.wfile.write(b"x" * 65536)
            except OSError:
                owner.over.set()  # who asked has gone, and did not read to an end that never comes

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    return Handler
