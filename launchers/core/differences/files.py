"""A digest of each file of a source, so that a later job can tell which of them differ.

It is kept small: a source of more files or bytes than :data:`MOST_FILES` and :data:`MOST_BYTES` has
no digests of its files, and a later job then says that the source differs and no more.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from launchers.core.open_flags import flags
from launchers.core.source.bundle import REQUIREMENTS, SOURCE_FOLDER, SourceBundle
from launchers.core.source.bundle_files import CHUNK, BundleFile

MOST_FILES = 1000
MOST_BYTES = 50_000_000
_DIGITS = 12  # of a SHA-256, hexadecimal: it tells versions of one file apart, nothing more
_SHOWN = 3


@dataclass(frozen=True)
class Digests:
    """What is known of a source.

    Attributes:
        sha256: Of the whole bundle.
        launch: Of the launcher's own files in it.
        files: By path in the user's tree; None where there were too many.
    """

    sha256: str
    launch: str
    files: Mapping[str, str] | None

    def packed(self) -> bytes:
        """For the ledger."""
        return zlib.compress(json.dumps([self.sha256, self.launch, self.files]).encode())


def unpacked(data: bytes) -> Digests | None:
    """What :meth:`Digests.packed` gave; None of anything else."""
    try:
        sha256, launch, files = json.loads(zlib.decompress(data))
    except (zlib.error, ValueError, TypeError, RecursionError):
        return None
    known = files is None or isinstance(files, dict)
    if not (isinstance(sha256, str) and sha256 and isinstance(launch, str) and known):
        return None
    return Digests(sha256, launch, files)


def digests(bundle: SourceBundle) -> Digests:
    """The digests of ``bundle``'s files, which are read once more, and once for all jobs of it.

    A file that can no longer be read counts as another one.
    """
    known = bundle.texts.known
    if Digests not in known:
        ours = hashlib.sha256()
        for file in bundle.files:
            if file.ours:
                ours.update(f"{file.name}\0{_digest(file)}\n".encode())
        theirs = [file for file in bundle.files if not file.ours]
        few = len(theirs) <= MOST_FILES and sum(file.size for file in theirs) <= MOST_BYTES
        files = {_path(file): _digest(file) for file in theirs} if few else None
        known[Digests] = ours.hexdigest()[:_DIGITS], files
    launch, files = known[Digests]
    return Digests(bundle.sha256, launch, files)


def differing_files(before: Digests, now: Digests, shared: bool) -> Iterator[str]:
    """A line each for what was changed, added and removed.

    Args:
        shared: Whether the source is the training script that comes with the launcher.
    """
    if before.sha256 == now.sha256:
        return
    old, new = before.files, now.files
    if before.launch != now.launch or (shared and old != new):
        yield "launch itself: another version of its own files"
    if shared:
        return
    if old is None or new is None:
        if before.launch == now.launch:
            yield "the source (too many files or bytes to say which)"
        return
    yield from _line("changed", [path for path in new if old.get(path, new[path]) != new[path]])
    yield from _line("added", [path for path in new if path not in old])
    yield from _line("removed", [path for path in old if path not in new])


def _line(word: str, paths: list[str]) -> Iterator[str]:
    if paths:
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        yield f"{word}: {', '.join(paths[:_SHOWN])}{more}"


def _path(file: BundleFile) -> str:
    if file.name == REQUIREMENTS:
        return "the file of --requirements"
    return file.name.removeprefix(SOURCE_FOLDER + "/")


def _digest(file: BundleFile) -> str:
    digest = hashlib.sha256(f"{file.executable}\0{file.link}\0".encode())
    if not file.link:
        try:
            handle = os.open(file.origin, flags(os.O_RDONLY, "O_NONBLOCK"))
            with os.fdopen(handle, "rb", buffering=0) as stream:
                left = file.size
                while chunk := stream.read(min(left, CHUNK)):
                    left -= len(chunk)
                    digest.update(chunk)
        except OSError as error:
            digest.update(str(error).encode())
    return digest.hexdigest()[:_DIGITS]
