"""The job's code as its containers find it: the very bundle, or a source for a foreign document."""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from launchers.core.model.containers import Container
from launchers.core.model.problems import LaunchError, Problem, errors
from launchers.core.paths import entrypoints_folder
from launchers.core.source.bundle import SourceBundle, scan
from launchers.core.source.bundle_files import BundleFile, tar
from launchers.core.source.tree import read_tree
from launchers.rehearsal.catalogue import RULES

_GUARD = "guard.py"


def archive_of_bundle(bundle: SourceBundle, work: Path) -> Path:
    """The compressed bundle, as a submission uploads it."""
    path = work / "source.tar.gz"
    bundle.write_tar_gz(path)
    return path


def archive_of_source(source: Path, work: Path, guarded: bool) -> Path:
    """The archive that ``--source DIR|TAR`` stands for.

    Args:
        guarded: The document starts our guard, so a folder is bundled with it; else a folder's
            own files lie at the root.

    Raises:
        LaunchError: It does not exist, cannot be packed, or a member's name leads out.
    """
    if source.is_dir():
        if guarded:
            return archive_of_bundle(scan(source, entrypoints_folder()), work)
        return _plain(source, work)
    if not source.is_file() or not tarfile.is_tarfile(source):
        found = "no such file or folder" if not source.exists() else "neither a folder nor a tar"
        raise LaunchError(_wrong(source, found, "a folder, or a .tar.gz"))
    return _checked(source, work, guarded)


def with_code(
    containers: Sequence[Container], archive: Path, other: bool = False
) -> list[Container]:
    """``containers`` with the archive where their contract wants it; an address is served by the
    object store instead.

    Args:
        other: The archive may be another than the document's: its hash takes the place of that
            one's in the containers' commands.
    """
    checked = other and any(item.code_digest for item in containers)
    digest = digest_of(archive) if checked else ""
    return [
        replace(
            container,
            files={**container.files, container.code: archive},
            command=tuple(
                digest if digest and word == container.code_digest else word
                for word in container.command
            ),
        )
        if container.code.startswith("/")
        else container
        for container in containers
    ]


def carries_digest(text: str, archive: Path) -> bool:
    """Whether a document's text has the hash of the archive's uncompressed stream, as the
    addresses of our bundles do; True where it has no such hash at all."""
    return not re.search(r"/[0-9a-f]{64}/", text) or digest_of(archive) in text


def digest_of(archive: Path) -> str:
    """The hash of the archive's uncompressed stream."""
    digest = hashlib.sha256()
    with gzip.open(archive) as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _plain(source: Path, work: Path) -> Path:
    root = source.resolve()
    tree = read_tree(root)
    if errors(tree.problems):
        raise LaunchError(errors(tree.problems))
    files = [
        BundleFile(file.path, root / file.path, file.size, file.executable, file.link)
        for file in tree.files
    ]
    path = work / "source.tar.gz"
    with gzip.GzipFile(path, "wb", compresslevel=6, mtime=0) as packed:
        for chunk in tar(files):
            packed.write(chunk)
    return path


def _checked(source: Path, work: Path, guarded: bool) -> Path:
    """The archive itself, compressed where it was not; older toolkits unpack any name they find,
    so names that lead out are refused here."""
    with tarfile.open(source) as archive:
        members = archive.getmembers()
    for member in members:
        reached = [member.name]
        if member.issym() or member.islnk():
            base = Path(member.name).parent if member.issym() else Path()
            reached.append(str(base / member.linkname))
        if any(_leads_out(name) for name in reached):
            raise LaunchError(
                _wrong(
                    source,
                    f"the member {member.name!r} leads out of its folder",
                    "names and links that stay inside",
                )
            )
    if guarded and _GUARD not in {member.name.removeprefix("./") for member in members}:
        raise LaunchError(
            _wrong(
                source,
                f"no {_GUARD} at its root",
                "a bundle of ours",
                "give the folder instead, and it is bundled",
            )
        )
    with source.open("rb") as stream:
        if stream.read(2) == b"\x1f\x8b":
            return source
    path = work / "source.tar.gz"
    with source.open("rb") as plain, gzip.GzipFile(path, "wb", mtime=0) as packed:
        shutil.copyfileobj(plain, packed)
    return path


def _leads_out(name: str) -> bool:
    depth = 0
    for part in name.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return True
    return name.startswith("/")


def _wrong(source: Path, found: str, expected: str, fix: str = "") -> Problem:
    return RULES["rehearsal-source"].at(f"--source {source}", found, expected, fix)
