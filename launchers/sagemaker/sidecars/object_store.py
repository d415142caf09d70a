"""A small S3 endpoint: GET and HEAD of the objects in a folder. Runs in a container of its own.

``python3 object_store.py FOLDER [PORT]``, where FOLDER/BUCKET/KEY are the objects. Standard
library alone, Python 3.7 and later: it runs in whatever image the job has. Credentials are not
looked at, since the network is private; what is sent to it (PUT) is taken and thrown away.
"""

from __future__ import annotations

import http.server
import os
import sys
import urllib.parse

_CHUNK = 1 << 20


class Handler(http.server.BaseHTTPRequestHandler):
    """One request. Both ways of naming a bucket are understood: in the path and in the host."""

    protocol_version = "HTTP/1.1"
    folder = ""

    def do_HEAD(self) -> None:
        """What an object is."""
        self._answer(body=False)

    def do_GET(self) -> None:
        """An object, or the range of it that is asked for."""
        self._answer(body=True)

    def do_PUT(self) -> None:
        """Take what is sent, keep nothing."""
        left = int(self.headers.get("Content-Length") or 0)
        while left > 0:
            data = self.rfile.read(min(left, _CHUNK))
            if not data:
                return
            left -= len(data)
        self._head(200, 0, {"ETag": '"0"'})

    def _answer(self, body: bool) -> None:
        path = self._object()
        if path is None:
            text = b"<Error><Code>NoSuchKey</Code><Message>not served here</Message></Error>"
            self._head(404, len(text), {"Content-Type": "application/xml"})
            if body:
                self.wfile.write(text)
            return
        size = os.path.getsize(path)
        first, last = self._range(size)
        length = last - first + 1
        headers = {
            "ETag": f'"{size:x}"',
            "Accept-Ranges": "bytes",
            "Last-Modified": self.date_time_string(int(os.path.getmtime(path))),
        }
        if length < size:
            headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        self._head(206 if length < size else 200, length, headers)
        if body:
            self._send(path, first, length)

    def _object(self) -> str | None:
        """The file of the object, or None. A name cannot leave the folder."""
        named = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).lstrip("/")
        bucket = (self.headers.get("Host") or "").split(":")[0].split(".")[0]
        for name in (named, os.path.join(bucket, named)):
            path = os.path.realpath(os.path.join(self.folder, name))
            if path.startswith(self.folder + os.sep) and os.path.isfile(path):
                return path
        return None

    def _range(self, size: int) -> tuple[int, int]:
        unit, _, wanted = (self.headers.get("Range") or "").partition("=")
        first, dash, last = wanted.partition("-")
        if unit != "bytes" or not dash or not first.isdigit() or int(first) >= size:
            return 0, size - 1
        return int(first), min(int(last), size - 1) if last.isdigit() else size - 1

    def _head(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def _send(self, path: str, first: int, length: int) -> None:
        with open(path, "rb") as stream:
            stream.seek(first)
            while length > 0:
                data = stream.read(min(length, _CHUNK))
                if not data:
                    return
                self.wfile.write(data)
                length -= len(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Requests are not printed."""


def main() -> None:
    """Serve until the container is removed."""
    Handler.folder = os.path.realpath(sys.argv[1])
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 9000
    http.server.ThreadingHTTPServer(("", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
