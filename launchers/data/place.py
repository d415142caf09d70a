"""What a place of pictures holds: read from its manifest, else from its Parquet files."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from launchers.core.model.problems import LaunchError, Problem
from launchers.core.shipped import library
from launchers.data.catalogue import RULES
from launchers.data.reading import ask


@dataclass(frozen=True)
class PlaceFile:
    """One Parquet file.

    Attributes:
        name: Below the place's root.
        sha256: Empty where there is no manifest.
        row_groups: Rows of each.
    """

    name: str
    rows: int
    bytes: int
    sha256: str
    row_groups: tuple[int, ...]


@dataclass(frozen=True)
class PlaceSplit:
    """One split.

    Attributes:
        name: Empty for a folder of Parquet files without a manifest.
        counts: Rows of each class of the place.
    """

    name: str
    rows: int
    counts: tuple[int, ...]
    files: tuple[PlaceFile, ...]

    @property
    def bytes(self) -> int:
        """Of its files."""
        return sum(one.bytes for one in self.files)

    @property
    def row_groups(self) -> tuple[int, ...]:
        """Rows of each, over all files."""
        return tuple(rows for one in self.files for rows in one.row_groups)


@dataclass(frozen=True)
class Place:
    """A place.

    Attributes:
        root: A folder, or an address; the splits' files lie below it.
        classes: Their names, by label; without a manifest the numbers of the labels that occur.
        has_manifest: Whether it was read from one.
        made: How it was made, as the manifest has it.
        bad: Paths of pictures that were left out, and why.
        sizes: Bytes of the files that are there, by their names below the root.
        unread: Row groups of which it isn't known whether each row has a picture.
    """

    root: str
    classes: tuple[str, ...]
    splits: tuple[PlaceSplit, ...]
    has_manifest: bool = True
    made: Mapping[str, Any] = field(default_factory=dict)
    bad: tuple[tuple[str, str], ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    unread: int = 0

    @property
    def labels(self) -> tuple[int, ...]:
        """The label of each class."""
        return tuple(range(len(self.classes)) if self.has_manifest else map(int, self.classes))


def read_place(place: str, python: Callable[[], str], whole: bool = False) -> Place:
    """What ``place`` holds: a root with a manifest, one of its split folders, or a folder of
    Parquet files. Files that are not the manifest's are told by ``place_problems``.

    Args:
        python: Which Python reads what needs pyarrow: an address, Parquet without a manifest.
        whole: Read all pictures of Parquet without a manifest, if that tells which are missing.

    Raises:
        LaunchError: It is none, is unfinished, or its manifest cannot be read.
    """
    layout = library("data.layout")
    remote = "://" in place
    root, split = place.rstrip("/") or place, ""
    found = ask(python(), "look", place=root) if remote else _look(root)
    above, _, last = root.rpartition("/") if remote else (*_parts(root),)
    if found["manifest"] is None and last in layout.SPLITS:
        outer = ask(python(), "look", place=above) if remote else _look(above)
        if outer["manifest"] is not None:
            root, split, found = above, last, outer
    if found["manifest"] is None:
        return _without_manifest(root, found, python, whole)
    try:
        manifest = layout.from_text(found["manifest"])
    except layout.ManifestError as error:
        at = f"{root}/{layout.MANIFEST}"
        raise LaunchError(RULES["data-manifest"].at(at, str(error), "a whole manifest")) from None
    complete = _of_manifest(root, manifest, found["sizes"])
    if not split:
        return complete
    kept = tuple(one for one in complete.splits if one.name == split)
    if not kept:
        raise LaunchError(no_split(place, split, complete))
    return replace(complete, splits=kept)


def chosen_splits(place: Place, name: str | None) -> tuple[PlaceSplit, ...]:
    """The split of that name; all of them without one.

    Raises:
        LaunchError: There is none of that name.
    """
    kept = tuple(one for one in place.splits if name is None or one.name == name)
    if not kept:
        raise LaunchError(no_split("--split", str(name), place))
    return kept


def no_split(path: str, name: str, place: Place) -> Problem:
    """There is no such split."""
    expected = " or ".join(one.name for one in place.splits if one.name)
    return RULES["data-split"].at(path, f"no split {name}", expected or "a place with splits")


def _parts(folder: str) -> tuple[str, str, str]:
    path = Path(os.path.abspath(folder))
    return str(path.parent), "/", path.name


def _look(folder: str) -> dict[str, Any]:
    """As the program's task of that name, for a folder of this machine."""
    layout = library("data.layout")
    root = Path(folder)
    try:
        if not root.is_dir():
            there = "a file" if root.exists() else "no such folder"
            raise LaunchError(RULES["data-place"].at(folder, there))
        with os.scandir(root):  # os.walk would pass over a folder that may not be read
            pass
        sizes = {
            Path(above, name).relative_to(root).as_posix(): Path(above, name).stat().st_size
            for above, _, names in os.walk(root)
            for name in names
        }
        manifest = None
        if layout.MANIFEST in sizes:
            manifest = (root / layout.MANIFEST).read_text("utf-8", "replace")
    except OSError as error:
        raise LaunchError(RULES["data-place"].at(folder, why_unread(error))) from None
    unfinished = (root / layout.UNFINISHED_FOLDER).is_dir()
    return {"manifest": manifest, "unfinished": unfinished, "sizes": sizes}


def _without_manifest(
    root: str, found: Mapping[str, Any], python: Callable[[], str], whole: bool
) -> Place:
    if found["unfinished"]:
        raise LaunchError(RULES["data-unfinished"].at(root, "a conversion that is not finished"))
    names = sorted(name for name in found["sizes"] if library("data.layout").is_data(name))
    if not names:
        there = "no Parquet file and no manifest.json" if found["sizes"] else "an empty folder"
        raise LaunchError(RULES["data-place"].at(root, there))
    of_splits = _by_split(names)
    asked = [name for split in of_splits.values() for name in split]
    answer = ask(python(), "rows", place=root, names=asked, whole=whole)
    told = {one["name"]: one for one in answer["files"]}
    labels = sorted({int(label) for one in told.values() for label in one["counts"]})
    splits = tuple(
        _without_hashes(split, [told[name] for name in of_split], labels)
        for split, of_split in of_splits.items()
    )
    classes, sizes, unread = tuple(map(str, labels)), found["sizes"], answer["unread"]
    return Place(root, classes, splits, has_manifest=False, sizes=sizes, unread=unread)


def _by_split(names: Sequence[str]) -> dict[str, list[str]]:
    """The files of each split, as the loader knows these: folders by their names beside train/."""
    splits = library("data.layout").SPLITS
    found = {split: [name for name in names if name.startswith(f"{split}/")] for split in splits}
    if not found[splits[0]]:
        return {"": list(names)}
    return {split: of_split for split, of_split in found.items() if of_split}


def _without_hashes(
    split: str, told: Sequence[Mapping[str, Any]], labels: Sequence[int]
) -> PlaceSplit:
    """A split of the files that reading_program.py tells of."""
    files = tuple(
        PlaceFile(one["name"], one["rows"], one["bytes"], "", tuple(one["row_groups"]))
        for one in told
    )
    counts: Counter[int] = Counter()
    for one in told:
        counts.update({int(label): rows for label, rows in one["counts"].items()})
    return PlaceSplit(split, counts.total(), tuple(counts[label] for label in labels), files)


def _of_manifest(root: str, manifest: Any, sizes: Mapping[str, int]) -> Place:
    splits = tuple(
        PlaceSplit(
            name,
            split.rows,
            tuple(split.counts),
            tuple(
                PlaceFile(one.name, one.rows, one.bytes, one.sha256, tuple(one.row_groups))
                for one in split.files
            ),
        )
        for name, split in manifest.splits.items()
    )
    bad = tuple((one.path, one.reason) for one in manifest.bad)
    return Place(root, tuple(manifest.classes), splits, True, manifest.made, bad, sizes)


def why_unread(error: OSError) -> str:
    """The system's reason, in words."""
    if error.errno == errno.EACCES:
        return "may not be read"
    return error.strerror or str(error)
