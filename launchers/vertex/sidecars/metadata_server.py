"""A small metadata server: one account's token. Runs in a container of its own.

``python3 metadata_server.py TOKEN_FILE [PORT]``. Standard library alone, Python 3.7 and later: it
runs in whatever image the job has. Paths and answers are those that Google documents for Compute
Engine ("About VM metadata", "Authenticate workloads using service accounts"), as far as Google's
client libraries ask for them.

It hands out a token, so it answers the containers of its own network alone, which are those of one
rehearsal: no container of another network, and no process of the machine, which comes from the
network's gateway.
"""

from __future__ import annotations

import http.server
import ipaddress
import json
import struct
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


class Server(http.server.ThreadingHTTPServer):
    """Lets nobody in who is not of its network."""

    routes = ""

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether this connection gets an answer, or ends without one."""
        return is_neighbour(str(client_address[0]), self.routes)


def is_neighbour(address: str, routes: str) -> bool:
    """Whether an address is this container's own or of another container of its networks.

    Args:
        routes: The text of /proc/net/route. An engine's bridge, through which the machine's own
            processes come, is the gateway, or without one the network's first address.
    """
    asks = ipaddress.IPv4Address(address)
    if asks.is_loopback:
        return True
    fields = [line.split() for line in routes.splitlines()[1:]]
    known = [
        [struct.pack("<I", int(line[place], 16)) for place in (1, 2, 7)]
        for line in fields
        if len(line) > 7
    ]
    gateways = {ipaddress.IPv4Address(gateway) for _, gateway, _ in known}
    for destination, gateway, mask in known:
        if any(gateway) or not any(mask):
            continue
        width = str(ipaddress.IPv4Address(mask))
        network = ipaddress.IPv4Network((str(ipaddress.IPv4Address(destination)), width))
        bridges = gateways | {network.network_address + 1}
        if asks in network and asks not in bridges:
            return True
    return False


def main() -> None:
    """Serve until the container is removed."""
    Handler.file = sys.argv[1]
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 80
    with open("/proc/net/route", encoding="ascii") as stream:
        Server.routes = stream.read()
    Server(("", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
