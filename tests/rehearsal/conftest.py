"""A Docker engine for the tests that are marked ``docker``; none of them skips without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launchers.docker.engine import engine
from launchers.image.names import GPU_LABEL, REPOSITORY, repository
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
    return our_image(client, REPOSITORY, "launch image build")


@pytest.fixture(scope="session")
def torch_image(client: Any) -> str:
    """Our image with Debian's PyTorch; it has no Horovod, no MPI, no toolkit."""
    return our_image(
        client,
        repository("torch"),
        "python -m tests.image.debian_torch; launch image build --with torch --base "
        "launch-debian-torch:bookworm",
    )


def our_image(client: Any, name: str, fix: str) -> str:
    """By its name: images that other tests derive from it carry its labels, too."""
    found = client.images.list(name=name, filters={"label": f"{GPU_LABEL}=0"})
    tags = [tag for image in found for tag in image.tags if tag.startswith(f"{name}:")]
    if not tags:
        pytest.fail(f"{name} is not on this machine: run `{fix}`")
    return str(tags[0])
