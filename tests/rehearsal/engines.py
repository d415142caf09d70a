"""A Docker engine on loopback that runs nothing: what it says of itself, its images, what carries
labels, and what comes of a push. The unmodified client finds it by DOCKER_HOST."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseServer, ThreadingMixIn, UnixStreamServer
from types import TracebackType
from typing import Any
from urllib.parse import unquote

_VERSIONED = re.compile(r"^/v\d+\.\d+")
# An id, or a name as distribution/reference has it.
_NAME = re.compile(r"[a-z0-9.:_/-]+(:[\w.-]+)?(@sha256:[0-9a-f]{64})?")


class _OnSocket(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


@dataclass
class Engine:
    """It listens from the moment it is entered.

    Attributes:
        images: Tag -> labels.
        push: What it tells of a push, as the events of its stream.
        socket: Where it listens; a port of loopback where None.
    """

    version: str = "24.0.7"
    api: str = "1.43"
    info: dict[str, Any] = field(default_factory=dict)
    images: dict[str, dict[str, str]] = field(default_factory=dict)
    containers: list[dict[str, Any]] = field(default_factory=list)
    push: list[dict[str, Any]] = field(default_factory=list)
    socket: Path | None = None

    def __enter__(self) -> Engine:
        engine = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, found = engine.answer(self.path)
                body = json.dumps(found).encode()
                self.head(status, "Content-Length", str(len(body)))
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, events = engine.done(self.path)
                self.head(status, "Transfer-Encoding", "chunked")
                for part in [*(json.dumps(event).encode() for event in events), b""]:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))

            def head(self, status: int, name: str, value: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header(name, value)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Nothing is printed."""

        self._server: BaseServer = (
            _OnSocket(str(self.socket), Handler)
            if self.socket
            else ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        """For DOCKER_HOST."""
        if self.socket:
            return f"unix://{self.socket}"
        return f"tcp://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, target: str) -> tuple[int, Any]:
        """The status, and what is at a path."""
        path = _VERSIONED.sub("", unquote(target.partition("?")[0]))
        if path.startswith("/images/") and path != "/images/json":
            return self._inspected(path.removeprefix("/images/").removesuffix("/json"))
        return 200, self._told(path)

    def done(self, target: str) -> tuple[int, list[dict[str, Any]]]:
        """The status, and the events, of what a POST asks for."""
        what = target.partition("?")[0].rpartition("/")[2]
        return (200, self.push) if what == "push" else (201, [])

    def _told(self, path: str) -> Any:
        if path == "/version":
            return {"Version": self.version, "ApiVersion": self.api, "MinAPIVersion": "1.24"}
        if path == "/info":
            usual = {
                "OSType": "linux",
                "Architecture": "x86_64",
                "NCPU": 4,
                "MemTotal": 16 * 10**9,
                "DockerRootDir": "/var/lib/docker",
                "Driver": "overlay2",
            }
            return {**usual, **self.info}
        if path == "/images/json":
            return [self._image(tag) for tag in self.images]
        if path == "/containers/json":
            return self.containers
        return {"Volumes": []} if path == "/volumes" else []

    def _inspected(self, name: str) -> tuple[int, Any]:
        if not _NAME.fullmatch(name):
            return 400, {"message": "invalid reference format"}
        for image in map(self._image, self.images):
            if name in self._names(image):
                return 200, image
        return 404, {"message": f"No such image: {name}"}

    def _image(self, tag: str) -> dict[str, Any]:
        return {
            "Id": f"sha256:{abs(hash(tag)):064x}",
            "RepoTags": [tag],
            "Labels": self.images[tag],
            "Config": {"Labels": self.images[tag]},
            "Created": "2026-01-01T00:00:00Z",
            "Size": 2_200_000_000,
        }

    def _names(self, image: dict[str, Any]) -> list[str]:
        return [image["Id"], *image["RepoTags"]]
