"""A registry on the loopback that takes what an engine pushes (OCI distribution API, in memory)."""

from __future__ import annotations

import base64
import hashlib
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@dataclass
class Registry:
    """What it holds, and who may push.

    Attributes:
        login: ``USER:PASSWORD`` that every request must carry; empty where none is asked for.
        blobs: Digest to content.
        manifests: ``NAME:TAG`` to digest.
        logins: The credentials that were seen.
    """

    login: str = ""
    address: str = ""
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, str] = field(default_factory=dict)
    uploads: dict[str, bytes] = field(default_factory=dict)
    logins: set[str] = field(default_factory=set)


@contextmanager
def serve(login: str = "") -> Iterator[Registry]:
    """A registry at 127.0.0.1 for the time of a block; engines reach it without TLS there."""
    registry = Registry(login)

    class Handler(_Handler):
        held = registry

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    registry.address = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    held: Registry
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self._allowed():
            self._answer(200 if self.path == "/v2/" else 404)

    def do_HEAD(self) -> None:
        digest = self.path.rpartition("/")[2]
        if self._allowed():
            there = digest in self.held.blobs
            size = len(self.held.blobs.get(digest, b""))
            self._answer(200 if there else 404, size=size, digest=digest)

    def do_POST(self) -> None:
        self._body()
        if self._allowed():
            upload = uuid.uuid4().hex
            self.held.uploads[upload] = b""
            self._answer(202, location=f"{urlsplit(self.path).path}{upload}")

    def do_PATCH(self) -> None:
        body = self._body()
        if self._allowed():
            self.held.uploads[self._upload()] += body
            received = len(self.held.uploads[self._upload()])
            self._answer(202, location=self.path, received=received)

    def do_PUT(self) -> None:
        body = self._body()
        if not self._allowed():
            return
        if "/manifests/" in self.path:
            name, _, tag = self.path[len("/v2/") :].partition("/manifests/")
            digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
            self.held.blobs[digest] = body
            self.held.manifests[f"{name}:{tag}"] = digest
        else:
            (digest,) = parse_qs(urlsplit(self.path).query)["digest"]
            self.held.blobs[digest] = self.held.uploads.pop(self._upload()) + body
        self._answer(201, location=self.path, digest=digest)

    def _upload(self) -> str:
        return urlsplit(self.path).path.rpartition("/")[2]

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _allowed(self) -> bool:
        sent = self.headers.get("Authorization", "")
        if sent.startswith("Basic "):
            self.held.logins.add(base64.b64decode(sent[6:]).decode())
        if not self.held.login or (sent and self.held.login in self.held.logins):
            return True
        self._answer(401)
        return False

    def _answer(
        self, code: int, location: str = "", size: int = 0, digest: str = "", received: int = 0
    ) -> None:
        self.send_response(code)
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        self.send_header("Content-Length", str(size))
        if code == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="loopback"')
        if location:
            self.send_header("Location", location)
        if received:
            self.send_header("Range", f"0-{received - 1}")
        if digest:
            self.send_header("Docker-Content-Digest", digest)
        self.end_headers()

    def log_message(self, *words: object) -> None:
        """Say nothing."""
