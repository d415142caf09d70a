"""The members of a source bundle: our own runtime, and the stream that all of them make."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.open_flags import flags
from launchers.core.source import exclusions, tar_stream
from launchers.core.source.tree import changed_while_read

# What of the entrypoints folder runs beside every script; the rest there are training scripts.
_RUNTIME = ("agent.py", "guard.py")
_OPTIONAL_RUNTIME = ("secret_references.py", "spark_driver.py")
_RUNTIME_FOLDER = "launch_runtime"
RUNTIME_NAMES = frozenset({*_RUNTIME, *_OPTIONAL_RUNTIME, _RUNTIME_FOLDER})

CHUNK = 1 << 20  # bytes read at a time


class BundleFile(NamedTuple):
    """One member of the archive: its name there, and where its content comes from.

    Attributes:
        name: Path in the archive, with ``/``.
        origin: The file to read; for a link, the link itself.
        size: Bytes; 0 for a link.
        executable: Mode 755 instead of 644.
        link: Target of a symbolic link, relative to its folder; else empty.
        ours: Part of the launcher's own runtime.
    """

    name: str
    origin: Path
    size: int
    executable: bool = False
    link: str = ""
    ours: bool = False


def runtime_files(entrypoints: Path) -> tuple[list[BundleFile], list[Problem]]:
    """Our own files for the bundle's root, with one mode wherever they were installed."""
    paths = [entrypoints / name for name in (*_RUNTIME, *_OPTIONAL_RUNTIME)]
    folder = entrypoints / _RUNTIME_FOLDER
    paths += [path for path in sorted(folder.rglob("*")) if "__pycache__" not in path.parts]
    problems = [
        RULES["source-runtime"].at(str(entrypoints / name), "is missing")
        for name in _RUNTIME
        if not (entrypoints / name).is_file()
    ]
    files = [
        BundleFile(path.relative_to(entrypoints).as_posix(), path, path.stat().st_size, ours=True)
        for path in paths
        if path.is_file() and not exclusions.by_name(path.name, False)
    ]
    return files, problems


def tar(
    files: Iterable[BundleFile], look: Callable[[BundleFile, bytes], None] | None = None
) -> Iterator[bytes]:
    """The tar stream; ``look`` sees all content, a file of up to ``CHUNK`` bytes in one piece."""
    written = 0
    for file in files:
        head = tar_stream.header(file.name, file.size, executable=file.executable, link=file.link)
        written += len(head) + file.size + len(tar_stream.padding(file.size))
        yield head
        if not file.link:
            for chunk in _content(file):
                if look:
                    look(file, chunk)
                yield chunk
            yield tar_stream.padding(file.size)
    yield tar_stream.end(written)


def _content(file: BundleFile) -> Iterator[bytes]:
    """The content in chunks; raises LaunchError where it is not of the size that was seen."""
    access = flags(os.O_RDONLY, *(() if file.ours else ("O_NOFOLLOW",)))
    try:
        with os.fdopen(os.open(file.origin, access), "rb", buffering=0) as stream:
            left = file.size
            while left:
                chunk = stream.read(min(left, CHUNK))
                if not chunk:
                    raise changed_while_read(file.origin)
                left -= len(chunk)
                yield chunk
            if stream.read(1):
                raise changed_while_read(file.origin)
    except OSError as error:
        raise changed_while_read(file.origin) from error
