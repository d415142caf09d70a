from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.defaults.given import Desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A user's desk with nothing on it."""
    return Desk(tmp_path, monkeypatch)
