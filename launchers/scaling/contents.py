"""What a study's source holds, and what of it has changed since the study began.

A Python file that has changed makes another training, which ends the study. Any other file may be a
setting that the script reads or a result that it writes, so that one is named and no more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from launchers.core.model.problems import Problem, errors, first_few
from launchers.core.source.bundle import REQUIREMENTS, SOURCE_FOLDER
from launchers.core.source.bundle_files import BundleFile
from launchers.core.source.script import JobSource
from launchers.scaling.catalogue import RULES
from launchers.scaling.identity import source_digest
from launchers.scaling.records import Record

# Of so many files each is known, and of so many bytes the contents, the smallest files first: what
# is larger than these together is data.
MOST_FILES, MOST_BYTES = 1000, 50_000_000
_PATH = "the script's Python files"
_DIGITS = 16  # of a SHA-256, hexadecimal: it tells versions of one file apart, nothing more


def digests_of(source: JobSource) -> dict[str, str]:
    """A digest of each file that counts for the job's name, by path; empty for one of which only
    the name is known. Nothing where there are too many files. Reads them."""
    files = _by_path(source)
    if len(files) > MOST_FILES:
        return {}
    found, left = {}, MOST_BYTES
    for path, file in sorted(files.items(), key=lambda item: (item[1].size, item[0])):
        left -= file.size
        found[path] = _digest(file) if left >= 0 else ""
    return dict(sorted(found.items()))


def changed_files(record: Record, source: JobSource, travels: bool) -> list[str]:
    """The files that are others than those with which the study began, and those that are gone.

    Args:
        travels: Whether the source is sent with each job, so that no run writes into it and a file
            that is new counts as well.
    """
    now = _by_path(source)
    found = [
        path
        for path, digest in record.files.items()
        if path not in now or (digest and _digest(now[path]) != digest)
    ]
    if record.files:
        found += [path for path in now if path not in record.files and (travels or _python(path))]
    return sorted(found)


def source_changes(
    record: Record, source: JobSource, changed: Iterable[str], travels: bool
) -> list[Problem]:
    """What keeps a study from going on with its source as it is now. A Python file that is new is
    a result of a run where these run where the source lies: it ends nothing.

    Args:
        changed: What :func:`changed_files` gave.
        travels: See there.
    """
    if not (source.folder / source.script).is_file():
        name, gone = " ".join(source.program), "deleted since the study began"
        fix = "restore it to resume, or choose another --output"
        return [RULES["scaling-another"].at(name, gone, "the script that it began with", fix)]
    if record.source == source_digest(source):
        return errors(source.problems)
    others = [path for path in changed if _python(path) and (travels or path in record.files)]
    if record.files and not others:
        return errors(source.problems)
    names = first_few(others)
    found = "changed since the study began" + (f": {names}" if names else "")
    fix = "undo the change to resume, or choose another --output"
    return [RULES["scaling-another"].at(_PATH, found, "those that it began with", fix)]


def files_problem(paths: list[str]) -> Problem:
    """A warning that names files which have changed."""
    found = f"changed since the study began: {first_few(paths)}"
    return RULES["scaling-files"].at("the source", found)


def _by_path(source: JobSource) -> dict[str, BundleFile]:
    """The user's files; the launcher's own may be those of another version."""
    return {_path(file): file for file in source.bundle.files if not file.ours}


def _path(file: BundleFile) -> str:
    if file.name == REQUIREMENTS:
        return "the file of --requirements"
    return file.name.removeprefix(SOURCE_FOLDER + "/")


def _python(path: str) -> bool:
    return path.endswith(".py")


def _digest(file: BundleFile) -> str:
    """Empty for a file that cannot be read, or has grown beyond what is read."""
    if file.size > MOST_BYTES:
        return ""
    try:
        return hashlib.sha256(file.origin.read_bytes()).hexdigest()[:_DIGITS]
    except OSError:
        return ""
