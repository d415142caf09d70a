"""Copies what the service would keep out of the containers. Nothing leaves its folder.

A container's folder comes as a tar stream of the engine, and its names and links are the script's:
they are treated as hostile.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import shutil
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from launchers.core.model.problems import first_few

_CHUNK = 1 << 20


@dataclass
class Unpacked:
    """What came out of one folder.

    Attributes:
        files: Path below the folder -> SHA-256 of its content.
        refused: What stayed behind, with the reason.
        size: Bytes written.
    """

    files: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    size: int = 0


def unpack(chunks: Iterable[bytes], target: Path) -> Unpacked:
    """Write the engine's tar stream of a folder below ``target``, which is made if needed.

    Files and folders are written, owned by this user, without set-id bits. A name that leads out,
    a device, a pipe, a socket is refused. A link is kept where its target lies in the folder and
    is reached without another link; else it is refused.

    Raises:
        OSError: ``target`` cannot be written.
    """
    found = Unpacked()
    links: list[tuple[str, str]] = []
    hard_links: list[tuple[str, str]] = []
    stream = cast(IO[bytes], _Chunks(chunks))
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            name = _inside(member.name)
            if name is None:
                found.refused.append(f"{member.name!r}: a name that leads out of the folder")
            elif member.issym():
                links.append((name, member.linkname))
            elif member.islnk():
                hard_links.append((name, member.linkname))
            elif member.isdir():
                _make_folder(target / name)
            elif member.isfile():
                content = archive.extractfile(member)
                if content is not None:
                    _write(content, target, name, member, found)
            else:
                found.refused.append(f"{name!r}: neither a file nor a folder")
    _copy_hard_links(hard_links, target, found)
    _make_links(links, target, found)
    return found


def differences(hosts: Mapping[str, Mapping[str, str]]) -> list[str]:
    """How the files of hosts differ from those of the first, one line a host that differs.

    Args:
        hosts: Host -> path -> digest.
    """
    names = list(hosts)
    lines = []
    for name in names[1:]:
        first, other = hosts[names[0]], hosts[name]
        parts = [
            ("only there", sorted(set(other) - set(first))),
            ("not there", sorted(set(first) - set(other))),
            ("with other content", sorted(p for p in first if p in other and first[p] != other[p])),
        ]
        told = [f"{first_few(paths)} {what}" for what, paths in parts if paths]
        if told:
            lines.append(f"{name} against {names[0]}: {'; '.join(told)}")
    return lines


class _Chunks:
    """A readable stream over chunks, as tarfile's stream mode wants it."""

    def __init__(self, chunks: Iterable[bytes]):
        self._chunks = iter(chunks)
        self._buffer = bytearray()

    def read(self, size: int) -> bytes:
        while len(self._buffer) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._buffer += chunk
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data


def _inside(name: str) -> str | None:
    """The name below the folder: the engine puts the folder's own name first. None for one that
    leads out."""
    parts = name.replace("\0", "").split("/")
    if name.startswith("/") or ".." in parts:
        return None
    return "/".join(part for part in parts[1:] if part not in ("", "."))


def _make_folder(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    path.mkdir(parents=True, exist_ok=True, mode=0o700)


def _write(
    content: IO[bytes], target: Path, name: str, member: tarfile.TarInfo, found: Unpacked
) -> None:
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest = hashlib.sha256()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, flags, 0o700 if member.mode & 0o100 else 0o600), "wb") as stream:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            found.size += len(chunk)
            stream.write(chunk)
    os.utime(path, (member.mtime, member.mtime))
    found.files[name] = digest.hexdigest()


def _copy_hard_links(links: list[tuple[str, str]], target: Path, found: Unpacked) -> None:
    """A second name of a file becomes a copy. Only files that were written here can be meant."""
    for name, linkname in links:
        origin = _inside(linkname)
        if origin is None or origin not in found.files or name in found.files:
            found.refused.append(f"{name!r}: a link to {linkname!r}, which is not in the folder")
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copyfile(target / origin, target / name)
        found.files[name] = found.files[origin]


def _make_links(links: list[tuple[str, str]], target: Path, found: Unpacked) -> None:
    """Links come last, so that nothing was ever written through one. A target that goes through
    another link could be turned anywhere by it, so it is refused."""
    names = {name for name, _ in links}
    for name, linkname in links:
        reached = posixpath.normpath(posixpath.join(posixpath.dirname(name), linkname))
        ways = _ways(posixpath.join(posixpath.dirname(name), linkname))
        leads_out = linkname.startswith("/") or reached.split("/")[0] == ".."
        path = target / name
        if leads_out or ways & names or path.exists() or not (target / reached).exists():
            found.refused.append(f"{name!r}: a link to {linkname!r}, which is not in the folder")
            continue
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.symlink_to(linkname)
        found.files[name] = f"link to {linkname}"


def _ways(path: str) -> set[str]:
    """Every place that a path passes through: ``a/b/../c`` passes a, a/b and a/c."""
    places, walked = set(), ""
    for part in path.split("/"):
        walked = posixpath.normpath(posixpath.join(walked, part))
        places.add(walked)
    return places
