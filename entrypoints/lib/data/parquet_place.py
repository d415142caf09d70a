"""Opens a place of pictures as Parquet: what is there, checked before any training.

A place is a folder that ``convert_images.py`` has written (its root or one of its splits), or a
folder of anybody's Parquet files with an integer column ``label`` and a binary column ``content``.
What a manifest says is believed once the sizes of its files agree with it; of other files the
footers are read. pyarrow is imported on use.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from dataclasses import dataclass, field
from typing import Any, Iterator

import numpy as np

from .. import places
from ..arrays import Array
from ..errors import TrainingError
from . import layout
from .division import RowGroups
from .parquet_files import (
    MAKE_ANEW,
    filesystem_of,
    footer,
    is_file,
    is_one_class,
    open_file,
    reading,
)
from .stored import printable

__all__ = ["MAKE_ANEW", "Pictures", "filesystem_of", "open_file", "open_place", "reading"]


@dataclass(frozen=True)
class Pictures:
    """One split of a place: pictures as row groups of Parquet files. It can be pickled.

    Attributes:
        address: As it was given.
        split: "train", "validation", "test"; "" for files without splits.
        classes: Names; where nobody gave names, the labels as text. A label is a place in it.
        counts: Pictures of each class, or None where nobody has counted.
        files: Path of each file in ``filesystem``.
        file_of_group: The number (int64) of the file of each row group, files in order.
        group_in_file: Its number (int64) within that file.
        group_rows: Its rows (int64).
        content_bytes: Of all encoded pictures, roughly.
        filesystem: A pyarrow file system.
    """

    address: str
    split: str
    classes: tuple[str, ...]
    counts: tuple[int, ...] | None
    files: tuple[str, ...]
    file_of_group: Array
    group_in_file: Array
    group_rows: Array
    content_bytes: int
    filesystem: Any = field(compare=False, repr=False)

    @property
    def groups(self) -> RowGroups:
        """The row groups, for ``division`` and ``position``."""
        return RowGroups(self.group_rows)

    @property
    def rows(self) -> int:
        """Pictures, copies included."""
        return int(self.group_rows.sum())

    @property
    def bytes_per_picture(self) -> float:
        """Of its content, in the mean, roughly."""
        return self.content_bytes / max(self.rows, 1)

    @property
    def bytes_per_group(self) -> int:
        """Of the content of the row group with the most rows, roughly."""
        return int(self.bytes_per_picture * int(self.group_rows.max()))

    def fingerprint(self) -> int:
        """A number that differs where row groups or classes do."""
        text = "\0".join(self.classes).encode()
        return zlib.crc32(
            np.ascontiguousarray(self.group_rows, dtype="<i8").tobytes(), zlib.crc32(text)
        )

    def path_of(self, row: int) -> str:
        """The path of the picture in that row, or file and row where there is no such column.

        Blocks while it is read.
        """
        file, group, within = self._where(row)
        named = f"{file}, row group {group}, row {within}"
        with contextlib.suppress(Exception):
            table = open_file(self.filesystem, file).read_row_group(group, columns=[layout.PATH])
            return f"{printable(table.column(0)[within].as_py())} ({named})"
        return named

    def contents_of(self, rows: Array) -> Iterator[tuple[int, bytes]]:
        """(row, the encoded picture in it) of some rows, (n,) int64, row group after row group.

        Blocks while a row group is read, each once.

        Raises:
            TrainingError: A file cannot be read.
        """
        groups = self.groups
        of_rows = groups.of(rows)
        for group in np.unique(of_rows):
            first = int(groups.starts[group])
            file, number, _ = self._where(first)
            with reading(file):
                opened = open_file(self.filesystem, file)
                content = opened.read_row_group(number, columns=[layout.CONTENT]).column(0)
            for row in rows[of_rows == group].tolist():
                yield row, bytes(content[row - first].as_py())

    def _where(self, row: int) -> tuple[str, int, int]:
        """(path of the file, row group in it, row in that) of a row number."""
        group = int(self.groups.of(np.array([row]))[0])
        file = self.files[int(self.file_of_group[group])]
        return file, int(self.group_in_file[group]), row - int(self.groups.starts[group])


def open_place(address: str, split: str = "train") -> Pictures:
    """The pictures of a split of the place at ``address``: a folder, s3://... or gs://...

    Args:
        address: A root with a manifest, one of its split folders (``split`` is then not asked
            for), or a folder of Parquet files, in which folders by the names of splits are known.
        split: Which one to read of a root.

    Raises:
        TrainingError: There is none, it cannot be read, it is damaged, or no model can be trained
            on it: one line.
    """
    _refuse_form_of_flag(address)
    with reading(address):
        filesystem, root = filesystem_of(places.on_this_machine(address))
        found = _manifest(filesystem, root, split)
        if found is not None:
            pictures = _with_manifest(address, filesystem, *found)
        else:
            _refuse_absent(address)
            pictures = _without_manifest(address, filesystem, root, split)
    names = pictures.classes
    if pictures.counts is not None and pictures.split == layout.SPLITS[0]:
        names = tuple(name for name, count in zip(names, pictures.counts) if count)
    if len(names) < 2:
        raise TrainingError(
            f"{address}: all pictures are of one class ({', '.join(names)}); expected "
            "at least two. Give the folder that holds the classes' folders to the conversion."
        )
    return pictures


def _refuse_form_of_flag(address: str) -> None:
    kind, colon, place = address.partition(":")
    if colon and kind == "parquet":
        raise TrainingError(
            f"{address}: the form of --data; expected the place alone: open_place({place!r})"
        )


def _refuse_absent(address: str) -> None:
    """A folder that is not there, of which pyarrow says a riddle."""
    try:
        is_there = "://" in address or bool(os.stat(places.on_this_machine(address)))
    except FileNotFoundError:
        is_there = False
    except (OSError, ValueError):  # which is told where it is read
        return
    if not is_there:
        here = ""
        with contextlib.suppress(FileNotFoundError):  # the working folder is gone, too
            here = "" if os.path.isabs(address) else f", from {os.getcwd()}"
        raise TrainingError(
            f"{address}: no such folder{here}; expected what `launch data parquet IMAGES OUT` "
            "makes, or a folder of Parquet files"
        )


def _manifest(filesystem: Any, root: str, split: str) -> tuple[str, str, layout.Manifest] | None:
    """(root, split, manifest) of the place that ``root`` is, or is a split folder of."""
    parent, _, name = root.rpartition("/")
    for folder, wanted in ((root, split), (parent, name if name in layout.SPLITS else "")):
        path = f"{folder}/{layout.MANIFEST}"
        if not wanted or not is_file(filesystem, path):
            continue
        with filesystem.open_input_file(path) as file:
            text = file.read().decode("utf-8", "replace")
        try:
            return folder, wanted, layout.from_text(text)
        except layout.ManifestError as error:
            raise TrainingError(f"{path}: {error}. {MAKE_ANEW}") from error
    return None


def _with_manifest(
    address: str, filesystem: Any, root: str, split: str, manifest: layout.Manifest
) -> Pictures:
    if split not in manifest.splits:
        raise TrainingError(
            f"{address}: has no split {split}; it has {', '.join(manifest.splits) or 'none'}. "
            "Convert with --split, or name another."
        )
    about = manifest.splits[split]
    if not about.rows:
        raise TrainingError(f"{address}: split {split} holds no picture. {MAKE_ANEW}")
    paths = [f"{root}/{file.name}" for file in about.files]
    for path, file, info in zip(paths, about.files, filesystem.get_file_info(paths)):
        size = info.size
        if size != file.bytes:
            is_there = "is not there" if size is None else f"has {size} bytes"
            raise TrainingError(f"{path}: {is_there}; its manifest says {file.bytes}. {MAKE_ANEW}")
    open_file(filesystem, paths[0])  # one footer: the sizes speak for the others
    return _pictures(
        address,
        split,
        manifest.classes,
        about.counts,
        paths,
        [list(file.row_groups) for file in about.files],
        about.bytes,
        filesystem,
    )


def _without_manifest(address: str, filesystem: Any, root: str, split: str) -> Pictures:
    from pyarrow import fs

    if is_file(filesystem, root):
        raise TrainingError(f"{address}: is a file; expected a folder of Parquet files")
    outside = root.rpartition("/")[0] if root.rpartition("/")[2] in layout.SPLITS else root
    unfinished = filesystem.get_file_info(f"{outside}/{layout.UNFINISHED_FOLDER}")
    if unfinished.type == fs.FileType.Directory:
        raise TrainingError(
            f"{address}: a conversion that is not finished. Run the same `launch data parquet` "
            "again: it resumes where it was."
        )
    folder, known = root, ""
    if filesystem.get_file_info(f"{root}/{split}").type == fs.FileType.Directory:
        folder, known = f"{root}/{split}", split
    selected = filesystem.get_file_info(fs.FileSelector(folder, recursive=True))
    paths = sorted(
        info.path
        for info in selected
        if info.type == fs.FileType.File and layout.is_data(info.path[len(folder) + 1 :])
    )
    if not paths:
        raise TrainingError(
            f"{address}: holds no Parquet file (*.parquet). Make some: "
            "`launch data parquet IMAGES OUT`"
        )
    groups, size, highest = [], 0, -1
    for path in paths:
        about = open_file(filesystem, path).metadata
        rows, file_bytes, file_highest = footer(filesystem, path, about)
        groups.append(rows)
        size, highest = size + file_bytes, max(highest, file_highest)
    if highest < 0:
        raise TrainingError(f"{address}: its {len(paths)} Parquet files hold no row")
    classes = tuple(str(label) for label in range(highest + 1))
    if highest and is_one_class(filesystem, paths, highest):
        classes = (str(highest),)
    return _pictures(address, known, classes, None, paths, groups, size, filesystem)


def _pictures(
    address: str,
    split: str,
    classes: tuple[str, ...],
    counts: tuple[int, ...] | None,
    paths: list[str],
    groups: list[list[int]],
    size: int,
    filesystem: Any,
) -> Pictures:
    number = [(file, at, rows) for file, of in enumerate(groups) for at, rows in enumerate(of)]
    files, within, rows = np.array([one for one in number if one[2]], dtype=np.int64).T
    return Pictures(
        address, split, classes, counts, tuple(paths), files, within, rows, size, filesystem
    )
