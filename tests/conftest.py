"""Fixtures that every folder of tests may use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.cli.command import Launch

# The same examples in every run, and no judgement of how fast a busy machine makes them.
settings.register_profile(
    "launch", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("launch")


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    """The command, with a data folder and a working folder of its own."""
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    return Launch(home, folder)
