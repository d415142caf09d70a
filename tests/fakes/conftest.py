"""Fixtures of the fakes' own tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.aws_models import models_are_read_once as models_are_read_once
from tests.fakes.vertex_service import VertexService


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[VertexService]:
    """A loopback Google Cloud, and an environment in which clients reach it and nothing else."""
    with VertexService() as service:
        for name, value in service.environment().items():
            monkeypatch.setenv(name, value)
        yield service
