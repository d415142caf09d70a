"""The agents' rendezvous: what signing adds to a report, and to the keys by which ranks meet."""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.benchmarks.measure import median, print_table
from tests.places import ENTRYPOINTS

_TIMES = 300  # of each in a run
_STATE = json.dumps({"began": True, "missing": [], "verdict": None, "finished": False}).encode()
_REPORT = {"host": 1, "incarnation": "cd" * 16, "failures": [], "ended": False, "left": False}


class _Plain(BaseHTTPRequestHandler):
    """The same without a key: Python's own server, a connection a question."""

    def do_POST(self) -> None:
        json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", str(len(_STATE)))
        self.end_headers()
        self.wfile.write(_STATE)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Says nothing."""


def run(runs: int) -> None:
    """Print the table."""
    sys.path.insert(0, str(ENTRYPOINTS))
    plain = ThreadingHTTPServer(("127.0.0.1", 0), _Plain)
    threading.Thread(target=plain.serve_forever, daemon=True).start()
    measures = {"unsigned report": lambda: _plain_report(plain.server_port), **_signed()}
    found: dict[str, list[float]] = {name: [] for name in measures}
    for index in range(runs + 1):
        for name, measure in measures.items():
            begin = time.perf_counter()
            for _ in range(_TIMES):
                measure()
            if index:
                found[name].append((time.perf_counter() - begin) / _TIMES * 1e6)
    plain.shutdown()
    plain.server_close()
    print_table(
        f"One question to the first host over loopback, median of {runs} runs of {_TIMES} in turn",
        ["what", "microseconds", "from", "to"],
        [
            [name, f"{median(all_of):.0f}", f"{min(all_of):.0f}", f"{max(all_of):.0f}"]
            for name, all_of in found.items()
        ],
    )


def _plain_report(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/launch/report", json.dumps(_REPORT))
    connection.getresponse().read()
    connection.close()


def _signed() -> dict[str, Callable[[], Any]]:
    from launch_runtime.host.peers import signatures
    from launch_runtime.host.peers.first_host import FirstHost
    from launch_runtime.host.peers.keys import Keys
    from launch_runtime.host.peers.ranks_door import RanksDoor
    from launch_runtime.host.peers.rendezvous import Rendezvous, SharedKeys

    key, keys = signatures.Key("5a" * 16), SharedKeys(Keys(8, 4))
    state = json.loads(_STATE)
    served = Rendezvous("127.0.0.1", 0, key, "ab" * 16, 2, lambda _: state, keys, print)
    host = FirstHost("127.0.0.1", [served.port], key, 1, "cd" * 16, print)
    address, port = RanksDoor(host.ask_for_key, keys.longest_value).meeting
    word = address.partition("/")[2]
    asked = signatures.Question("POST", "/a", 1, "cd", 1, "ab", 2, signatures.digest(b"{}"))

    def rank() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("PUT", f"/{word}:{port}/global_/0", b"x" * 1000)
        connection.getresponse().read()
        connection.close()

    return {
        "signed report": lambda: host.report(_REPORT),
        "a rank's key, by its own agent": rank,
        "one signature": lambda: key.of_question(asked),
    }
