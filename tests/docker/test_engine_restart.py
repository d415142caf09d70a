"""An engine that is restarted under a rehearsal. The engine is one of the test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.rehearsal.boxes import PROOF, Heard, run, things_of
from tests.waiting import until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.usefixtures("home"),
    pytest.mark.skipif(
        os.getuid() != 0 or shutil.which("dockerd") is None,
        reason="starts a Docker engine of its own: needs root and dockerd",
    ),
]


@dataclass
class Engine:
    """A Docker engine in folders of its own, beside the machine's."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"unix://{self.folder}/sock"

    def start(self) -> None:
        (self.folder / "pid").unlink(missing_ok=True)
        words = [
            # A network namespace of its own: an engine without a bridge removes the machine's.
            "unshare",
            "--net",
            "dockerd",
            "--data-root",
            f"{self.folder}/data",
            "--exec-root",
            f"{self.folder}/run",
            "--pidfile",
            f"{self.folder}/pid",
            "--host",
            self.address,
            "--bridge",
            "none",
            "--iptables=false",
        ]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log)
        until(self.answers, "the engine answers")

    def answers(self) -> bool:
        try:
            with _client(self.address) as client:
                return bool(client.ping())
        except (docker.errors.DockerException, OSError):
            return False

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.wait(60)


class _client:  # noqa: N801 - reads as the function it stands for
    """A client that is closed."""

    def __init__(self, address: str):
        self._client = docker.DockerClient(base_url=address)

    def __enter__(self) -> Any:
        return self._client

    def __exit__(self, *error: object) -> None:
        self._client.close()


@pytest.fixture
def engine(tmp_path_factory: pytest.TempPathFactory, client: Any, base: str) -> Iterator[Engine]:
    # A socket's path may have 107 characters, so not the test's own folder.
    folder = tmp_path_factory.mktemp("e")
    found = Engine(folder)
    found.start()
    image = b"".join(client.images.get(base).save(named=True))
    with _client(found.address) as own:
        own.images.load(image)
    yield found
    found.stop()
    shutil.rmtree(folder, ignore_errors=True)


def test_after_an_engines_restart_nothing_is_left(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    proven, results = threading.Event(), []

    class Waiting(Heard):
        def line(self, line: Any, watch: Any) -> None:
            proven.set()

    def rehearsal() -> None:
        results.append(run(f"{PROOF}; sleep 1000", "sleep 1000", heard=Waiting(), name="restart"))

    thread = threading.Thread(target=rehearsal)
    thread.start()
    assert proven.wait(60)
    engine.stop()
    engine.start()
    thread.join(60)
    assert results[0].state in ("lost", "failed")
    with _client(engine.address) as client:
        assert things_of(client, "restart") == []
