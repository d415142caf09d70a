"""Two images' files beside each other: what differs, and what of it two builds are known for."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from launchers.image.check import image_of

if TYPE_CHECKING:
    import docker

_KINDS = {
    tarfile.DIRTYPE: "folder",
    tarfile.SYMTYPE: "link",
    tarfile.LNKTYPE: "hard link",
    tarfile.CHRTYPE: "device",
    tarfile.BLKTYPE: "device",
    tarfile.FIFOTYPE: "pipe",
}
_PIECE = 1 << 20
_EXPECTED = Path(__file__).with_name("differences.json")


@dataclass(frozen=True)
class File:
    """One entry of an image's tree; times are left out, since every build has its own.

    Attributes:
        kind: "file", "folder", "link", ...
        mode: Its permissions, as a number.
        owner: "user:group", numbers.
        size: Bytes.
        content: SHA-256 of a file, the target of a link; empty for others.
    """

    kind: str
    mode: int
    owner: str
    size: int
    content: str


@dataclass(frozen=True)
class Difference:
    """One path that is not the same in both.

    Attributes:
        what: "only in the first", "only in the second", or what differs: "content", "mode", ...
        why: Why two builds of one recipe differ there; empty where that is not known.
    """

    path: str
    what: str
    why: str


def compare(client: docker.DockerClient, first: str, second: str) -> tuple[int, list[Difference]]:
    """How many paths both images have together, and those that differ. Starts nothing of them.

    Blocks for about 10 seconds for each GB.

    Raises:
        LaunchError: An image is not on this machine.
    """
    before, after = (tree(client, str(image_of(client, name).id)) for name in (first, second))
    return len(before.keys() | after.keys()), differences(before, after)


def tree(client: docker.DockerClient, image: str) -> dict[str, File]:
    """Every path of an image, as a container of it would see it."""
    # The command is never run; an image without one needs it to become a container.
    container = client.containers.create(image, command=["true"], network_mode="none")
    try:
        return read_tree(cast(IO[bytes], io.BufferedReader(_Pieces(container.export(_PIECE)))))
    finally:
        container.remove(v=True, force=True)


def read_tree(stream: IO[bytes]) -> dict[str, File]:
    """Every path of a tar, read once."""
    found = {}
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for entry in archive:
            kind = _KINDS.get(entry.type, "file")
            content = _digest(archive, entry) if kind == "file" else entry.linkname
            found["/" + entry.name.strip("/")] = File(
                kind, entry.mode, f"{entry.uid}:{entry.gid}", entry.size, content
            )
    return found


def differences(before: Mapping[str, File], after: Mapping[str, File]) -> list[Difference]:
    """Where they differ, by path."""
    return [
        Difference(path, what, _why(path))
        for path in sorted(before.keys() | after.keys())
        if (what := _what(before.get(path), after.get(path)))
    ]


def _what(first: File | None, second: File | None) -> str:
    if first is None or second is None:
        return f"only in the {'second' if first is None else 'first'}"
    changed = [name for name in ("kind", "mode", "owner") if _differ(name, first, second)]
    if first.content != second.content:
        sizes = f"{first.size} and {second.size} bytes" if first.size != second.size else ""
        changed.append(f"content ({sizes})" if sizes else "content")
    return ", ".join(changed)


def _differ(name: str, first: File, second: File) -> bool:
    return bool(getattr(first, name) != getattr(second, name))


def _why(path: str) -> str:
    return next((why for pattern, why in _expected() if pattern.fullmatch(path)), "")


@cache
def _expected() -> list[tuple[re.Pattern[str], str]]:
    rows = json.loads(_EXPECTED.read_text(encoding="utf-8"))["differences"]
    return [(re.compile(row["path"]), row["why"]) for row in rows]


def _digest(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> str:
    total = hashlib.sha256()
    file = archive.extractfile(entry)
    assert file is not None
    while piece := file.read(_PIECE):
        total.update(piece)
    return total.hexdigest()


class _Pieces(io.RawIOBase):
    """The engine's pieces as a file to read."""

    def __init__(self, pieces: Iterable[bytes]):
        self._pieces: Iterator[bytes] = iter(pieces)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._pieces, b"")
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
