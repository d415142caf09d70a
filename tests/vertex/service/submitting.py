"""What the tests of submissions to Vertex AI share: the service, a project, the command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from launchers.vertex.service.session import Session, session_for
from tests.cli.command import Launch
from tests.fakes.google_scenarios import VertexScenario
from tests.fakes.vertex_service import LOCATION, VertexService
from tests.submitting import SCRIPT, CloudBench

PROOF = "[host-1/0] launch: proof: world size 8: 2 hosts x 4 ranks, Gloo"
CHIEF = "workerpool0-0"
GPUS = "custom_model_training_nvidia_l4_gpus"


class Bench(CloudBench[VertexService]):
    """A service, a project, and the command in it."""

    @property
    def google(self) -> VertexService:
        """The service."""
        return self.service

    @property
    def image(self) -> str:
        """An image that is in the project's registry."""
        return f"{LOCATION}-docker.pkg.dev/{self.google.account.project}/ranks/horovod:1"

    def words(self, *more: str) -> tuple[str, ...]:
        """The command line of a job of 2 hosts with 4 GPUs."""
        return (
            "vertex",
            "train.py",
            "--instances",
            "2",
            "--gpus",
            "4",
            "--image",
            self.image,
            *more,
        )


def bench(launch: Launch) -> Iterator[Bench]:
    """For a fixture: the service is closed afterwards."""
    (launch.folder / "train.py").write_text(SCRIPT)
    with VertexService() as google:
        google.account.add_image(LOCATION, "ranks", "horovod", "sha256:" + "0" * 64, "1")
        google.jobs.scenario = proven_job()
        yield Bench(google, launch)


def session_of(google: VertexService, monkeypatch: pytest.MonkeyPatch) -> Session:
    """The product's own session in this process, which leads to the service."""
    for name, value in google.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LAUNCH_POLL_SECONDS", "0.05")
    # Another test's sessions lead to a service that is closed.
    session_for.cache_clear()
    return Session(google.account.project, LOCATION)


def proven_job(*lines: str, **how: Any) -> VertexScenario:
    """A job of world size 8 that proves itself and prints ``lines``."""
    return VertexScenario(lines={CHIEF: [PROOF, *lines]}, **how)
