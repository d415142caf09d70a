"""Tracking servers on loopback: MLflow's own, and some that are of no use."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.sagemaker.released import installed
from tests.waiting import until

SERVER = "mlflow==3.17.2"


class MLflowServer:
    """The application of `mlflow server` over a SQLite file and a folder of artifacts.

    Started without that command's own process, which starts workers for other ends besides.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        # Bound and never listening: nobody else is given the port, before and between the starts.
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", 0))
        self._port = self._held.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The same after each start."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Returns at once; :meth:`wait` blocks."""
        store, artifacts = self._folder / "runs.db", self._folder / "artifacts"
        environment = {
            **os.environ,
            "PYTHONPATH": str(installed(SERVER)),
            "_MLFLOW_SERVER_FILE_STORE": f"sqlite:///{store}",
            "_MLFLOW_SERVER_ARTIFACT_DESTINATION": str(artifacts),
            "_MLFLOW_SERVER_ARTIFACT_ROOT": "mlflow-artifacts:/",
            "_MLFLOW_SERVER_SERVE_ARTIFACTS": "true",
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        words = ["--host", "127.0.0.1", "--port", str(self._port), "--log-level", "warning"]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "uvicorn", *words, "mlflow.server.fastapi_app:app"],
                env=environment,
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )

    def wait(self) -> None:
        """Until it answers."""

        def answers() -> bool:
            assert self._process
            log = (self._folder / "server.log").read_text(encoding="utf-8")
            assert self._process.poll() is None, log
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=10) as answer:
                    return bool(answer.status == 200)
            except OSError:
                return False

        until(answers, "MLflow's server", seconds=120)

    def kill(self) -> None:
        """At once, as a machine that loses its power."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def ask(self, what: str, **given: Any) -> Any:
        """An answer of its REST interface."""
        request = urllib.request.Request(
            f"{self.address}/api/2.0/mlflow/{what}",
            data=json.dumps(given).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def runs(self, experiment: str = "0") -> list[dict[str, Any]]:
        """All of an experiment (default: the default one), newest first: ``info``, ``params``,
        ``tags``."""
        found = self.ask("runs/search", experiment_ids=[experiment]).get("runs", [])
        return [
            {
                "info": one["info"],
                "params": {item["key"]: item["value"] for item in one["data"].get("params", [])},
                "tags": {item["key"]: item["value"] for item in one["data"].get("tags", [])},
            }
            for one in found
        ]

    def history(self, run: str, metric: str) -> list[tuple[int, float]]:
        """(steps, value) of a metric."""
        address = f"{self.address}/api/2.0/mlflow/metrics/get-history"
        with urllib.request.urlopen(f"{address}?run_id={run}&metric_key={metric}") as answer:
            found = json.load(answer).get("metrics", [])
        return sorted((int(one.get("step", 0)), float(one["value"])) for one in found)

    def artifacts(self) -> list[str]:
        """The names of all files of runs."""
        folder = self._folder / "artifacts"
        return sorted(path.name for path in folder.rglob("*") if path.is_file())

    def artifact(self, name: str) -> bytes:
        """The content of the only artifact of that name."""
        (path,) = (self._folder / "artifacts").rglob(name)
        return path.read_bytes()


class Answering:
    """Gives every request the same status."""

    def __init__(self, status: int):
        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_error(status)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.RequestHandlerClass.log_message = lambda *_: None  # type: ignore[method-assign]
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Ends it."""
        self._server.shutdown()
        self._server.server_close()


class Silent:
    """Accepts one connection, and never answers."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._connection: socket.socket | None = None
        self.request = ""

    def wait_for_request(self) -> str:
        """The first line of a request that now waits for its answer."""
        self._socket.settimeout(60)
        self._connection, _ = self._socket.accept()
        self.request = self._connection.recv(65536).decode()
        return self.request.splitlines()[0]

    def is_waited_for(self) -> bool:
        """Whether the client is still there, without an answer."""
        assert self._connection
        self._connection.setblocking(False)
        try:
            return bool(self._connection.recv(1))
        except BlockingIOError:
            return True

    def close(self) -> None:
        """Ends it."""
        for one in (self._connection, self._socket):
            if one:
                one.close()
