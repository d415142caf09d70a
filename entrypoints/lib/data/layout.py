"""Pictures as Parquet: the folder that ``convert_images.py`` writes and the loaders read.

    OUT/manifest.json               what is there; written last, so it is there once all else is
    OUT/train/part-00000.parquet    label int64, content binary (an encoded picture), path string
    OUT/validation/...  OUT/test/...  where the pictures were split

Standard library alone: listing and checking a place needs no pyarrow. Names that begin with "_" or
"." are no data (as Spark and pyarrow read folders); unfinished work lies in ``OUT/_conversion``.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any, Mapping

FORMAT = "launch-pictures"
VERSION = 1
MANIFEST = "manifest.json"
UNFINISHED_FOLDER = "_conversion"

LABEL, CONTENT, PATH = "label", "content", "path"  # the columns, in this order
SPLITS = ("train", "validation", "test")  # of --split 0.7,0.2,0.1; without it all are "train"
SUFFIXES = (".parquet", ".parq")  # in capitals, too

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class DataFile:
    """One Parquet file.

    Attributes:
        name: Below the place: "train/part-00000.parquet".
        rows: Of all its row groups.
        bytes: Its size.
        sha256: Of its bytes, in lower-case hex.
        row_groups: Rows of each row group, in order.
    """

    name: str
    rows: int
    bytes: int
    sha256: str
    row_groups: tuple[int, ...]


@dataclass(frozen=True)
class Split:
    """One split of a place.

    Attributes:
        rows: Pictures, copies included.
        bytes: Of the pictures' content, before Parquet.
        counts: Pictures of each class, by label.
        files: In the order of their names.
    """

    rows: int
    bytes: int
    counts: tuple[int, ...]
    files: tuple[DataFile, ...]


@dataclass(frozen=True)
class BadPicture:
    """A picture that was left out, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Manifest:
    """What a place holds.

    Attributes:
        classes: Their names; a label is a position in it.
        splits: By name; of SPLITS those that are there.
        made: How it was made (source, seed, fractions, size, quality, augmentations, copies, row
            groups): for people and for a second run, which must agree.
        bad: Pictures that were left out.
    """

    classes: tuple[str, ...]
    splits: Mapping[str, Split]
    made: Mapping[str, Any] = field(default_factory=dict)
    bad: tuple[BadPicture, ...] = ()


class ManifestError(ValueError):
    """A manifest that is not one: what was found and what was expected, for people."""


def as_text(manifest: Manifest) -> str:
    """The text of MANIFEST: the same bytes for the same manifest."""
    about = {"format": FORMAT, "version": VERSION, **asdict(manifest)}
    return json.dumps(about, indent=1, sort_keys=True) + "\n"


def from_text(text: str) -> Manifest:
    """The manifest that ``text`` says.

    Raises:
        ManifestError: It is no manifest of this version, or contradicts itself.
    """
    try:
        about = json.loads(text)
        if about["format"] != FORMAT or about["version"] != VERSION:
            raise ManifestError(
                f"format {about['format']} version {about['version']}, "
                f"expected {FORMAT} version {VERSION}"
            )
        classes = tuple(str(name) for name in about["classes"])
        splits = {
            name: _split(name, about["splits"][name], len(classes))
            for name in SPLITS
            if name in about["splits"]
        }
        bad = tuple(BadPicture(str(one["path"]), str(one["reason"])) for one in about["bad"])
        return Manifest(classes, splits, dict(about["made"]), bad)
    except ManifestError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ManifestError(f"not a manifest ({type(error).__name__}: {error})") from error


def _split(name: str, about: Mapping[str, Any], classes: int) -> Split:
    files = tuple(_file(one) for one in about["files"])
    split = Split(
        rows=_count(about["rows"]),
        bytes=_count(about["bytes"]),
        counts=tuple(_count(one) for one in about["counts"]),
        files=files,
    )
    if sum(file.rows for file in files) != split.rows or sum(split.counts) != split.rows:
        raise ManifestError(
            f"split {name}: its files, its classes and its {split.rows} rows differ"
        )
    if len(split.counts) != classes:
        raise ManifestError(f"split {name}: {len(split.counts)} counts for {classes} classes")
    return split


def _file(about: Mapping[str, Any]) -> DataFile:
    name, groups = str(about["name"]), tuple(_count(rows) for rows in about["row_groups"])
    file = DataFile(name, _count(about["rows"]), _count(about["bytes"]), about["sha256"], groups)
    if not _is_inside(name) or not _SHA256.fullmatch(file.sha256) or sum(groups) != file.rows:
        raise ManifestError(f"file {name}: no name, hash and row groups of a file of this place")
    return file


def _is_inside(name: str) -> bool:
    parts = name.split("/")
    return "\\" not in name and all(part not in ("", ".", "..") for part in parts)


def _count(number: Any) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ManifestError(f"{number!r} where a count was expected")
    return number


def is_data(name: str) -> bool:
    """Whether a file of that name below a place without a manifest is one of its Parquet files."""
    hidden = any(part.startswith(("_", ".")) for part in name.split("/"))
    return not hidden and name.lower().endswith(SUFFIXES)
