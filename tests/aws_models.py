"""The AWS SDK's models of its services, each read once in a process: EC2's takes 0.2 s a client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def models_are_read_once() -> Iterator[None]:
    """The SDK keeps what it has read by session; each test has a session of its own."""
    loaders = pytest.importorskip("botocore.loaders")
    read = loaders.JSONFileLoader().load_file
    known: dict[str, Any] = {}

    def load_file(_: Any, path: str) -> Any:
        if path not in known:
            found = read(path)
            if found is None:
                return None
            known[path] = found
        return known[path]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loaders.JSONFileLoader, "load_file", load_file)
        yield
