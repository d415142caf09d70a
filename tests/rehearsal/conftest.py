"""A Docker engine for the tests that are marked ``docker``; none of them skips without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launchers.docker.engine import engine
from launchers.image.names import GPU_LABEL, REPOSITORY
from tests.rehearsal.boxes import BASE


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of this test's own."""
    folder = tmp_path / "data"
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
        pytest.fail(f"{BASE} is not on this machine: run `make base-image`")
    return BASE


@pytest.fixture(scope="session")
def toolkit_image(client: Any) -> str:
    """Our image, with AWS's toolkit and Horovod."""
    # By its name: images that other tests derive from it carry its labels, too.
    found = client.images.list(name=REPOSITORY, filters={"label": f"{GPU_LABEL}=0"})
    tags = [tag for image in found for tag in image.tags if tag.startswith(f"{REPOSITORY}:")]
    if not tags:
        pytest.fail("our image is not on this machine: run `launch image build`")
    return str(tags[0])
