"""Every test here plans without this machine's AWS settings and with a ledger of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.aws_models import models_are_read_once as models_are_read_once


@pytest.fixture(autouse=True)
def no_account(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own, no AWS_* variable and no profile file."""
    folder = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(folder / "none"))
    monkeypatch.setenv("LAUNCH_HOME", str(folder))
    return folder
