"""What is wrong with a place: files that are not its manifest's, rows that can't be trained on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from launchers.core.model.problems import Problem
from launchers.core.planning.plan import counted
from launchers.core.shipped import library
from launchers.data.catalogue import RULES
from launchers.data.place import Place, why_unread
from launchers.data.reading import ask

# Files that are named one by one where many are wrong.
_MOST_NAMED = 10
_SHA256 = re.compile(r"[0-9a-f]{64}")


def problems_in_files(place: Place) -> list[Problem]:
    """A problem for each file of the manifest that is missing or has another size."""
    wrong = []
    for one in (file for split in place.splits for file in split.files):
        size = place.sizes.get(one.name)
        if size != one.bytes:
            found = "no such file" if size is None else f"{size:,} bytes"
            wrong.append(_wrong(place, one.name, found, f"{one.bytes:,} bytes"))
    return _few(wrong, place)


def problems_in_rows(place: Place) -> list[Problem]:
    """Warnings of Parquet files that something else made: labels that seem to number no classes,
    rows of which it isn't known whether they have a picture."""
    wrong = []
    rows, highest = sum(split.rows for split in place.splits), max(place.labels, default=-1)
    if not place.has_manifest and highest >= rows:
        found = f"label {highest} in {rows:,} rows: training would make {highest + 1:,} classes"
        wrong.append(RULES["data-labels"].at(f"{place.root}, column label", found))
    if place.unread:
        found = f"no statistics in {place.unread:,} row groups"
        wrong.append(RULES["data-unread"].at(f"{place.root}, column content", found))
    beside = [] if place.has_manifest else _beside_splits(place)
    if beside:
        some = ", ".join(beside[:3])
        found = f"{counted(len(beside), 'Parquet file')} in none of its splits: {some}"
        wrong.append(RULES["data-beside"].at(place.root, found))
    return wrong


def _beside_splits(place: Place) -> list[str]:
    """Files of a place without a manifest that nobody reads."""
    known = {one.name for split in place.splits for one in split.files}
    is_data = library("data.layout").is_data
    return sorted(name for name in place.sizes if name not in known and is_data(name))


def problems_in_hashes(
    place: Place, python: Callable[[], str], progress: Callable[[int, int], None]
) -> list[Problem]:
    """A problem for each file whose bytes are others than the manifest's. Reads all of them.

    Args:
        progress: Is told of bytes that were read, and of how many there are.
    """
    files = [file for split in place.splits for file in split.files if file.sha256]
    total, done, wrong = sum(one.bytes for one in files), 0, []
    for one in files:
        if "://" in place.root:
            told = ask(python(), "hash", place=place.root, names=[one.name])[one.name]
            digest = library("object_stores").said(told)[:300]
        else:
            digest = _sha256(Path(place.root, one.name))
        if not _SHA256.fullmatch(digest):  # why there is none
            wrong.append(RULES["data-files"].at(f"{place.root}/{one.name}", digest))
        elif digest != one.sha256:
            wrong.append(_wrong(place, one.name, f"SHA-256 {digest}", f"SHA-256 {one.sha256}"))
        done += one.bytes
        progress(done, total)
    return _few(wrong, place)


def _wrong(place: Place, name: str, found: str, expected: str) -> Problem:
    return RULES["data-files"].at(f"{place.root}/{name}", found, expected)


def _few(wrong: Sequence[Problem], place: Place) -> list[Problem]:
    """Not a thousand lines for a thousand files."""
    more = len(wrong) - _MOST_NAMED
    if more <= 0:
        return list(wrong)
    rest = RULES["data-files"].at(place.root, f"{more} more files that differ", "its manifest's")
    return [*wrong[:_MOST_NAMED], rest]


def _sha256(path: Path) -> str:
    import hashlib

    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            for chunk in iter(lambda: stream.read(1 << 20), b""):
                digest.update(chunk)
    except OSError as error:
        return why_unread(error)
    return digest.hexdigest()
