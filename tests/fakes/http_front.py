"""The HTTP side of a fake service: one port, a thread a connection, faults at every point."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol, cast

from tests.fakes.faults import (
    ANSWERED,
    ARRIVED,
    CLOSED,
    HALF_BODY,
    HALF_BODY_RESET,
    HANDLED,
    READ,
    RESET,
)
from tests.fakes.faults import ConnectionLostError as ConnectionLost
from tests.fakes.wire import Answer, Request


class Service(Protocol):
    """What the front asks of the service behind it."""

    def arrived(self, method: str, target: str, headers: Message) -> Request:
        """A request's head is here."""

    def read(self, request: Request) -> Answer | None:
        """Its body is here too; an answer if it makes no sense."""

    def strike(self, request: Request, point: str) -> Answer | None:
        """Let the faults strike; an answer instead of what would have come, or None.

        Raises:
            ConnectionLostError: The connection is to be lost.
        """

    def handle(self, request: Request) -> Answer:
        """Do what the request asks; never raises for a client's mistake."""


class Front:
    """The server. ``url`` is good from the start; :meth:`close` leaves nothing open.

    Args:
        headers: What every answer carries.
    """

    def __init__(self, service: Service, port: int = 0, headers: Mapping[str, str] | None = None):
        self._server = _Server(service, port, headers or {})
        # The interval is how long close() may take.
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Stop listening and end every connection."""
        self._server.shutdown()
        self._server.end_connections()
        self._server.server_close()
        self._thread.join()

    def wait(self) -> None:
        """Block until the server was closed."""
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    # Fifty launchers may come at once.
    request_queue_size = 256

    def __init__(self, service: Service, port: int, headers: Mapping[str, str]):
        self.service, self.headers = service, headers
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)

    def remember(self, connection: socket.socket, is_open: bool) -> None:
        with self._lock:
            (self._open.add if is_open else self._open.discard)(connection)

    def end_connections(self) -> None:
        with self._lock:
            left = list(self._open)
        for connection in left:
            # The other side may have gone in this moment.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what these services are for; anything else is shown."""
        import sys

        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        cast(_Server, self.server).remember(self.connection, True)

    def finish(self) -> None:
        cast(_Server, self.server).remember(self.connection, False)
        # After a lost connection there is nothing left to flush.
        with contextlib.suppress(OSError, ValueError):
            super().finish()

    def serve(self) -> None:
        service = cast(_Server, self.server).service
        self._answered: Answer | None = None
        try:
            self._serve(service)
        except ConnectionLost as lost:
            self._lose(lost.way)
        except OSError:
            self.close_connection = True

    def do_GET(self) -> None:
        self.serve()

    def do_HEAD(self) -> None:
        self.serve()

    def do_PUT(self) -> None:
        self.serve()

    def do_POST(self) -> None:
        self.serve()

    def do_PATCH(self) -> None:
        self.serve()

    def do_CONNECT(self) -> None:
        self.serve()

    def do_DELETE(self) -> None:
        self.serve()

    def _serve(self, service: Service) -> None:
        request = service.arrived(self.command, self.path, self.headers)
        refusal = service.strike(request, ARRIVED)
        request.body = self._read_body()
        refusal = refusal or service.read(request) or service.strike(request, READ)
        self._answered = answer = refusal or service.handle(request)
        refusal = service.strike(request, HANDLED)
        self._write(refusal or answer)
        service.strike(request, ANSWERED)

    def handle_expect_100(self) -> bool:
        """Say nothing yet: the body is asked for when it is read."""
        return True

    def _read_body(self) -> bytes:
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
            self.wfile.flush()
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._read_chunked()
        wanted = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(wanted)
        if len(body) < wanted:
            # The client went away in the middle: nothing of it counts.
            raise ConnectionLost(CLOSED)
        return body

    def _read_chunked(self) -> bytes:
        body = bytearray()
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return bytes(body)

    def _write(self, answer: Answer, half: bool = False) -> None:
        head = f"HTTP/1.1 {answer.status} {self.responses.get(answer.status, ('',))[0]}\r\n"
        common = {"Date": self.date_time_string(), **cast(_Server, self.server).headers}
        headers = {**common, **answer.headers}
        # A HEAD's answer says how long the body would be.
        headers["Content-Length"] = str(answer.length)
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.wfile.write(f"{head}\r\n".encode("latin-1"))
        if self.command != "HEAD" and answer.status != 204:
            body = answer.chunks()
            if half:
                whole = b"".join(body)
                self.wfile.write(whole[: len(whole) // 2])
            else:
                for chunk in body:
                    self.wfile.write(chunk)
        self.wfile.flush()

    def _lose(self, way: str) -> None:
        """End the connection now, in that way."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            if way in (HALF_BODY, HALF_BODY_RESET) and self._answered and self._answered.length:
                self._write(self._answered, half=True)
            elif way not in (RESET, CLOSED):
                self.wfile.write(b"HTTP/1.1 20")
                self.wfile.flush()
            if way in (RESET, HALF_BODY_RESET):
                # Close without waiting, and say RST.
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.rfile.close()
            self.connection.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Requests are kept, not printed."""
