"""A Docker engine for the tests that are marked ``docker``; none of them skips without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launchers.rehearsal.engine import engine
from launchers.rehearsal.image import default_image
from tests.rehearsal.boxes import BASE


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of this test's own."""
    folder = tmp_path / "home"
    monkeypatch.setenv("LAUNCH_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """The engine."""
    found = engine()
    yield found
    found.close()


@pytest.fixture(scope="session")
def base(client: Any) -> str:
    """The small image."""
    if not client.images.list(name=BASE):
        pytest.fail(f"{BASE} is not on this machine: run `launch image base`")
    return BASE


@pytest.fixture(scope="session")
def toolkit_image(client: Any) -> str:
    """Our image, with AWS's toolkit and Horovod."""
    found = default_image(client)
    if found is None:
        pytest.fail("our image is not on this machine: run `launch image build`")
    return found
