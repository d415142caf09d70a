"""The AWS SDK's models of its services, each read once in a process: EC2's takes 0.2 s a client."""

from __future__ import annotations

from functools import cache
from typing import Any

from botocore.loaders import JSONFileLoader

_read = cache(JSONFileLoader().load_file)


def _load_file(loader: JSONFileLoader, file_path: str) -> Any:
    return _read(file_path)


def keep() -> None:
    """The SDK keeps what it has read by session; each test has a session of its own."""
    JSONFileLoader.load_file = _load_file
