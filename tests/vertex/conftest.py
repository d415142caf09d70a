"""Every test here plans without this machine's Google settings and with a ledger of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_account(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own, no variable and no configuration of Google's tools."""
    folder = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith(("GOOGLE_", "CLOUDSDK_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(folder / "no-gcloud-config"))
    monkeypatch.setenv("LAUNCH_HOME", str(folder))
    monkeypatch.delenv("LAUNCH_VERTEX_BUCKET", raising=False)
    return folder
