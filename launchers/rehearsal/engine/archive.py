"""A tar stream of the files that a container starts with."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from launchers.rehearsal.engine.volumes import is_below

_IN_MEMORY = 64 * 1024**2  # bytes; a larger stream goes through a temporary file without a name


@contextmanager
def archive_of(
    files: Mapping[str, bytes | Path], folders: Iterable[str] = (), shared: Sequence[str] = ()
) -> Iterator[IO[bytes]]:
    """A readable tar stream, owned by root, files 644, folders 755.

    Args:
        files: Absolute path in the container -> content, or a file of this machine.
        folders: Absolute folders that are made, empty.
        shared: Folders that everybody may write to, with all folders in them.

    Raises:
        OSError: A file cannot be read.
    """
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as stream:
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for folder in _folders(files, [*folders, *shared]):
                member = _member(folder, tarfile.DIRTYPE)
                member.mode = 0o777 if is_below(folder, shared) else member.mode
                archive.addfile(member)
            for path, content in sorted(files.items()):
                _add(archive, path, content)
        stream.seek(0)
        yield stream


def _folders(files: Mapping[str, bytes | Path], folders: Iterable[str]) -> list[str]:
    """Every folder on the way, parents first. The engine keeps what the image already has."""
    wanted = {str(PurePosixPath(path).parent) for path in files} | set(folders)
    ways = {
        str(way) for path in wanted for way in (PurePosixPath(path), *PurePosixPath(path).parents)
    }
    return sorted(ways - {"/"})


def _add(archive: tarfile.TarFile, path: str, content: bytes | Path) -> None:
    member = _member(path, tarfile.REGTYPE)
    if isinstance(content, bytes):
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
        return
    with content.open("rb") as source:
        member.size = content.stat().st_size
        archive.addfile(member, source)


def _member(path: str, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path.lstrip("/"))
    member.type = kind
    member.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
    return member
