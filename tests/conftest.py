"""Fixtures that every folder of tests may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Launch


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    """The command, with a data folder and a working folder of its own."""
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    return Launch(home, folder)
