"""Fixtures of the fakes' own tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import aws_models
from tests.fakes.vertex_service import VertexService


@pytest.fixture(scope="session", autouse=True)
def models_are_read_once() -> None:
    """Those of the AWS SDK."""
    aws_models.keep()


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[VertexService]:
    """A loopback Google Cloud, and an environment in which clients reach it and nothing else."""
    with VertexService() as service:
        for name, value in service.environment().items():
            monkeypatch.setenv(name, value)
        yield service
