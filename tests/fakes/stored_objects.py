"""What a fake object store keeps: buckets, objects whose bytes lie in files, uploads that go on."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.wire import Request, ServiceError


@dataclass(frozen=True)
class StoredObject:
    """An object, whole from the moment it is there.

    Attributes:
        etag: Without its quotes.
        modified: Seconds since the epoch.
        headers: What it was stored with and is given back with.
        checksums: Algorithm -> base64.
        composite: Whether the checksums are those of its parts' checksums.
    """

    key: str
    file: Path
    size: int
    etag: str
    modified: float
    headers: Mapping[str, str] = field(default_factory=dict)
    checksums: Mapping[str, str] = field(default_factory=dict)
    composite: bool = False

    def read(self) -> bytes:
        """All its bytes."""
        return self.file.read_bytes()


@dataclass(frozen=True)
class Part:
    """A part of an upload that goes on."""

    number: int
    file: Path
    size: int
    md5: bytes
    modified: float
    checksums: Mapping[str, str]


@dataclass
class Upload:
    """An upload in parts that was begun and neither completed nor aborted."""

    id: str
    key: str
    started: float
    headers: Mapping[str, str]
    algorithm: str
    parts: dict[int, Part] = field(default_factory=dict)


@dataclass
class Bucket:
    """A bucket.

    Attributes:
        owner: The account's or project's id.
        settings: What was put under ``?encryption`` and the like, as it was sent.
    """

    name: str
    region: str
    owner: str
    created: float
    objects: dict[str, StoredObject] = field(default_factory=dict)
    uploads: dict[str, Upload] = field(default_factory=dict)
    settings: dict[str, bytes] = field(default_factory=dict)


class Files:
    """A folder for the bytes of objects and parts. A file in it is never changed."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def keep(self, data: bytes) -> Path:
        """A new file with these bytes."""
        path = self._new()
        path.write_bytes(data)
        return path

    def join(self, parts: list[Path]) -> Path:
        """A new file with the bytes of ``parts``, one after another."""
        path = self._new()
        with path.open("wb") as joined:
            for part in parts:
                with part.open("rb") as stream:
                    while data := stream.read(1 << 20):
                        joined.write(data)
        return path

    def _new(self) -> Path:
        with self._lock:
            return self._folder / f"{os.getpid()}-{next(self._numbers)}"


def etag_of(data: bytes) -> str:
    """The ETag of an object that came in one piece."""
    return hashlib.md5(data).hexdigest()


def etag_of_parts(parts: list[Part]) -> str:
    """The ETag of an object that came in parts."""
    return f"{hashlib.md5(b''.join(part.md5 for part in parts)).hexdigest()}-{len(parts)}"


def span_of(request: Request, size: int) -> tuple[tuple[int, int], bool]:
    """First byte and length that a GET asks for, and whether that is a range.

    Raises:
        ServiceError: The object has no such bytes.
    """
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", request.header("Range"))
    if match is None or not (match[1] or match[2]):
        return (0, size), False
    if match[1]:
        first = int(match[1])
        last = min(int(match[2]), size - 1) if match[2] else size - 1
    else:
        first, last = max(size - int(match[2]), 0), size - 1
    if first > last:
        raise ServiceError("InvalidRange", "The requested range is not satisfiable", 416)
    return (first, last - first + 1), True
