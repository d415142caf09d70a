"""A Docker engine on loopback, as far as `launch doctor` asks one: what it says of itself, its
images and what carries labels. The unmodified client finds it by DOCKER_HOST."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

_VERSIONED = re.compile(r"^/v\d+\.\d+")


@dataclass
class Engine:
    """It listens from the moment it is entered.

    Attributes:
        images: Tag -> labels.
    """

    version: str = "24.0.7"
    api: str = "1.43"
    info: dict[str, Any] = field(default_factory=dict)
    images: dict[str, dict[str, str]] = field(default_factory=dict)
    containers: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> Engine:
        engine = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = json.dumps(engine.answer(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
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
        return f"tcp://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, target: str) -> Any:
        """What is at a path."""
        path = _VERSIONED.sub("", target.partition("?")[0])
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
        if path.startswith("/images/"):
            wanted = path.removeprefix("/images/").removesuffix("/json")
            return next(one for one in map(self._image, self.images) if wanted in self._names(one))
        if path == "/containers/json":
            return self.containers
        return {"Volumes": []} if path == "/volumes" else []

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
