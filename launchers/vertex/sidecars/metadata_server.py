"""A small metadata server: one account's token. Runs in a container of its own.

``python3 metadata_server.py TOKEN_FILE [PORT]``. Standard library alone, Python 3.7 and later: it
runs in whatever image the job has. Paths and answers are those that Google documents for Compute
Engine ("About VM metadata", "Authenticate workloads using service accounts"), as far as Google's
client libraries ask for them.
"""

from __future__ import annotations

import http.server
import json
import sys
import time
import urllib.parse
from typing import Any

_ROOT = "/computeMetadata/v1"
_ACCOUNTS = "/instance/service-accounts"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    file = ""

    def do_GET(self) -> None:
        """An answer, as JSON or as text."""
        path = urllib.parse.urlsplit(self.path).path.rstrip("/")
        if path and self.headers.get("Metadata-Flavor") != "Google":
            self._answer(403, "Missing Metadata-Flavor:Google header.")
            return
        with open(self.file, encoding="utf-8") as stream:
            known = self._known(json.load(stream))
        found = known.get(path)
        self._answer(404, "not served here") if found is None else self._answer(200, found)

    def _known(self, told: dict[str, Any]) -> dict[str, Any]:
        token = {
            "access_token": told["token"],
            "expires_in": max(0, int(told["expires"] - time.time())),
            "token_type": "Bearer",
        }
        known: dict[str, Any] = {
            "": "computeMetadata/",
            f"{_ROOT}/universe/universe-domain": "googleapis.com",
        }
        if told["project"]:
            known[f"{_ROOT}/project/project-id"] = told["project"]
        for name in ("default", told["email"]):
            account = f"{_ROOT}{_ACCOUNTS}/{name}"
            known[account] = {"aliases": ["default"], "email": told["email"], "scopes": [_SCOPE]}
            known[f"{account}/email"] = told["email"]
            known[f"{account}/scopes"] = _SCOPE
            known[f"{account}/token"] = token
        return known

    def _answer(self, status: int, content: Any) -> None:
        is_text = isinstance(content, str)
        body = (content if is_text else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", "application/text" if is_text else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Requests are not printed."""


def main() -> None:
    """Serve until the container is removed."""
    Handler.file = sys.argv[1]
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 80
    http.server.ThreadingHTTPServer(("", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
