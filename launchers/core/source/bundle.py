"""The source bundle: what a job's hosts get, as one deterministic archive.

At its root lie our own agent and guard, and the file of `--requirements`; under ``src/`` lies the
user's tree. Its hash is that of the uncompressed tar stream, since gzip's bytes differ between
versions of zlib. :func:`scan` reads and hashes and writes nothing, so a dry run compresses nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from launchers.core.catalogue import RULES
from launchers.core.model.problems import LaunchError, Problem, errors
from launchers.core.source import exclusions
from launchers.core.source.bundle_files import RUNTIME_NAMES, BundleFile, runtime_files, tar
from launchers.core.source.credential_files import CredentialFiles
from launchers.core.source.texts import SourceTexts
from launchers.core.source.tree import LeftOut, changed_while_read, read_tree

MAX_BYTES = 500_000_000
_TOLD_EACH = 16_000_000  # bytes; a smaller source is read in no time
Progress = Callable[[int, int], None]  # bytes done, and of how many
SOURCE_FOLDER = "src"
REQUIREMENTS = "requirements.txt"


class _Heard:
    """Tells of bytes that go by, now and then; of a source that is done in no time, nothing."""

    def __init__(self, size: int, told: Progress | None):
        self._size, self._told = size, told
        self._done = self._last = 0

    def more(self, count: int) -> None:
        """So many bytes more."""
        self._done += count
        if self._told and self._done - self._last >= _TOLD_EACH:
            self._last = self._done
            self._told(min(self._done, self._size - 1), self._size)

    def end(self) -> None:
        """All have gone by."""
        if self._told and self._last:
            self._told(self._size, self._size)


@dataclass(frozen=True)
class SourceBundle:
    """What :func:`scan` found.

    Attributes:
        source: The user's tree, absolute.
        files: Every member, sorted by the bytes of its name.
        size: Bytes of all contents together, uncompressed.
        sha256: Hexadecimal hash of the tar stream; empty where the bundle is refused unread.
        problems: Why it is refused, and warnings.
        left_out: What of the tree stays behind, sorted by path.
        allowed: Files that hold what looks like a credential and that were allowed by name.
        texts: The contents of the user's files, as they were read for the hash.
    """

    source: Path
    files: tuple[BundleFile, ...] = ()
    size: int = 0
    sha256: str = ""
    problems: tuple[Problem, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    allowed: tuple[str, ...] = ()
    texts: SourceTexts = field(default_factory=SourceTexts, repr=False, compare=False)

    def left_out_summary(self, shown: int = 3) -> list[str]:
        """One line a reason for the plan, such as ``by .gitignore: data/, a.h5 and 4 more``."""
        by_reason: dict[str, list[str]] = {}
        for left in self.left_out:
            if left.notable:
                by_reason.setdefault(left.why, []).append(left.path)
        return [
            f"{why}: {', '.join(paths[:shown])}"
            + (f" and {len(paths) - shown} more" if len(paths) > shown else "")
            for why, paths in by_reason.items()
        ]

    def write_tar(self, stream: BinaryIO, told: Progress | None = None) -> None:
        """Writes the tar stream whose hash is :attr:`sha256`; reads the files again.

        Args:
            told: Hears of a large source now and then how many bytes of how many are written, and
                at the end.

        Raises:
            LaunchError: The bundle is refused, or a file is no longer what was scanned (then
                what has been written is worthless).
        """
        if errors(self.problems) or not self.sha256:
            raise LaunchError(errors(self.problems))
        digest, heard = hashlib.sha256(), _Heard(self.size, told)
        for chunk in tar(self.files):
            digest.update(chunk)
            stream.write(chunk)
            heard.more(len(chunk))
        heard.end()
        if digest.hexdigest() != self.sha256:
            raise changed_while_read(self.source)

    def write_tar_gz(self, path: Path, told: Progress | None = None) -> None:
        """Writes the compressed archive to ``path``, whole or not at all, readable by its owner.

        Time and name in the gzip header are left empty. A file at ``path`` is replaced.

        Args:
            told: As of :meth:`write_tar`.

        Raises:
            LaunchError: As :meth:`write_tar`.
            OSError: ``path`` cannot be written.
        """
        import gzip
        import tempfile

        handle, partial = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with (
                os.fdopen(handle, "wb") as file,
                gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed,
            ):
                self.write_tar(packed, told)  # type: ignore[arg-type]  # a GzipFile writes bytes
            os.replace(partial, path)
        except BaseException:
            os.unlink(partial)
            raise


def scan(
    source: Path,
    entrypoints: Path,
    requirements: Path | None = None,
    *,
    allowed: Collection[str] = (),
    told: Progress | None = None,
) -> SourceBundle:
    """Reads what would travel and hashes it. Writes nothing and needs no network.

    Args:
        source: The user's tree, or ``entrypoints`` for a shared training script.
        entrypoints: Our own folder with agent and guard.
        requirements: The file of `--requirements`, which becomes ``requirements.txt``.
        allowed: Paths, relative to the source, of files that may hold what looks like a
            credential (`--allow-value`).
        told: Hears now and then how many bytes of how many are read, and at the end.

    Returns:
        The bundle, with every problem at once. A credential in a file is a problem that names
        file and line and never the value.

    Raises:
        LaunchError: A file changed or vanished while it was read.
    """
    refused = _refused_source(source)
    if refused:
        return SourceBundle(source, problems=(refused,))
    root = Path(os.path.realpath(source))
    shared = os.path.realpath(entrypoints) == str(root)
    runtime, problems = runtime_files(entrypoints)
    tree = read_tree(root, RUNTIME_NAMES if shared else frozenset())
    problems += tree.problems
    files = [*runtime]
    origins = {file.path: root / file.path for file in tree.files}
    texts = SourceTexts(origins)
    if requirements is not None:
        from launchers.core.source.requirements_file import problems_in_requirements

        problems += problems_in_requirements(requirements)
        if requirements.is_file():
            files.append(BundleFile(REQUIREMENTS, requirements, requirements.stat().st_size))
    for file in tree.files:
        name, origin = f"{SOURCE_FOLDER}/{file.path}", origins[file.path]
        files.append(BundleFile(name, origin, file.size, file.executable, file.link))
    files.sort(key=lambda file: file.name.encode())
    size = sum(file.size for file in files)
    if size > MAX_BYTES:
        problems.append(_too_large(files, size))
        left_out = tuple(tree.left_out)
        return SourceBundle(root, tuple(files), size, "", tuple(problems), left_out, (), texts)
    search = CredentialFiles(allowed)

    def look(file: BundleFile, content: bytes) -> None:
        if file.ours:
            return
        path = file.name.removeprefix(SOURCE_FOLDER + "/")
        if file.size == len(content):
            texts.keep(path, content)
        search.look(path, file.size, content)

    digest, heard = hashlib.sha256(), _Heard(size, told)
    for chunk in tar(files, look):
        digest.update(chunk)
        heard.more(len(chunk))
    search.end()
    heard.end()
    return SourceBundle(
        root,
        tuple(files),
        size,
        digest.hexdigest(),
        tuple(problems + search.problems),
        tuple(tree.left_out),
        tuple(search.passed),
        texts,
    )


def _refused_source(source: Path) -> Problem | None:
    """Why ``source`` as a whole is refused."""

    def refuse(found: str, fix: str) -> Problem:
        return RULES["source-folder"].at("--source", f"{source} {found}", fix=fix)

    if not source.exists():
        return refuse("does not exist", "Check the path")
    if not source.is_dir():
        return refuse(
            "is not a folder", f"Name the folder that it lies in: --source {source.parent}"
        )
    root, home = (Path(os.path.realpath(path)) for path in (source, os.path.expanduser("~")))
    if root == home or root in home.parents:
        kind = "is a home folder" if root == home else "holds the home folder"
        return refuse(kind, "Put the script into a folder of its own, or name one with --source")
    if root == Path(root.anchor):
        return refuse("is the root of the file system", "Name the script's own folder")
    if not os.access(root, os.R_OK | os.X_OK):
        return refuse("cannot be read by this user", f"Run `chmod u+rx {source}`")
    if exclusions.is_environment(os.listdir(root)):
        return refuse("is a virtual environment", "Name the folder of the script itself")
    return None


def _too_large(files: Iterable[BundleFile], size: int) -> Problem:
    largest = sorted(files, key=lambda file: (-file.size, file.name))[:10]
    listed = ", ".join(
        f"{file.name.removeprefix(SOURCE_FOLDER + '/')} {file.size / 1e6:.1f} MB"
        for file in largest
    )
    return RULES["source-size"].at(
        "--source",
        f"{size / 1e6:.0f} MB; the largest files: {listed}",
        f"at most {MAX_BYTES / 1e6:.0f} MB",
    )
