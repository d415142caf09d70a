"""The HTTP server on the first host: Horovod's key/value store, and the agents' reports.

Horovod's Gloo controller asks for ``PUT``, ``GET`` and ``DELETE`` on ``/<scope>/<key>`` and 404
for what is absent (horovod/common/gloo/http_store.cc, 0.28.1). A rank deletes its key once all
ranks have met, so a script may shut Horovod down and start it again. Agents ``POST`` reports to
``/launch/report``.
"""

from __future__ import annotations

import errno
import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable

REPORT_PATH = "/launch/report"
_LONGEST_VALUE = 16 << 20  # bytes; Horovod's largest is some kilobytes
_LONGEST_REPORT = 96 << 20  # a host's evidence (local_ranks.HOST_EVIDENCE_BYTES), and the rest

Answer = Callable[[Any], Any]


class PortError(Exception):
    """The rendezvous' port cannot be had; the text says which and why."""


class Rendezvous(ThreadingHTTPServer):
    """Serves in threads of its own until :meth:`close`.

    Args:
        address: The IPv4 address to listen on; 0.0.0.0 for all.
        port: The TCP port; 0 takes a free one.
        answer: Gives the answer to an agent's report.

    Raises:
        PortError: Somebody else has the port, or this user may not take it.
    """

    daemon_threads = True
    request_queue_size = 128  # every rank asks every 10 ms while it waits for the others

    def __init__(self, address: str, port: int, answer: Answer):
        self.values: dict[str, bytes] = {}
        self.answer = answer
        try:
            super().__init__((address, port), _Handler)
        except (OSError, OverflowError) as error:
            taken = getattr(error, "errno", None) == errno.EADDRINUSE
            reason = "another process listens on it" if taken else str(error)
            raise PortError(
                f"port {port} of {address} cannot be used for the rendezvous: {reason}"
            ) from None
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def server_bind(self) -> None:
        """Binds without asking a name server for this host's name, as http.server does."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away in the middle is no error of ours."""

    def close(self) -> None:
        """Frees the port; blocks for up to 0.05 s."""
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Rendezvous
    timeout = 10  # seconds for one request; half-open connections end

    def do_PUT(self) -> None:
        self.server.values[self.path] = self._body(_LONGEST_VALUE)
        self._reply(200)

    def do_GET(self) -> None:
        value = self.server.values.get(self.path)
        if value is None:
            self._reply(404)
        else:
            self._reply(200, value)

    def do_DELETE(self) -> None:
        self.server.values.pop(self.path, None)
        self._reply(200)

    def do_POST(self) -> None:
        try:
            report = json.loads(self._body(_LONGEST_REPORT))
            answer = self.server.answer(report)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self._reply(400, repr(error).encode())
            return
        self._reply(200, json.dumps(answer).encode())

    def _body(self, longest: int) -> bytes:
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= longest:
            raise ValueError(f"a body of {length} bytes")
        return self.rfile.read(length)

    def _reply(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Says nothing: requests are no news."""
