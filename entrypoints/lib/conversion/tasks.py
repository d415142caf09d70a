"""One task of a conversion, and the record of a task that is done: what engines carry."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Mapping

from ..data.layout import BadPicture, DataFile
from ..pictures.recipe import Recipe


@dataclass(frozen=True)
class Picture:
    """One original: its path below the source ('/'), its size in bytes, its class's label."""

    path: str
    bytes: int
    label: int


@dataclass(frozen=True)
class Task:
    """Consecutive pictures of the plan, and all that is needed to write their Parquet files.

    Pickles; needs nothing of the process that made it. Doing it twice, at once or one after the
    other, gives the same files: each is written under a name of its own and renamed when whole.

    Attributes:
        number: From 0; part of its files' names.
        source: Absolute folder or URL of the class folders.
        place: Absolute folder or URL of the place that is written.
        pictures: In the order in which they are stored.
        classes: How many there are.
        fractions: Of train, validation, test; (1.0,) without a split.
        seed: Of the split.
        recipe: What every picture becomes.
        rows_per_group: Rows of a row group; a file's last one may be shorter.
        skip_bad: Bad pictures are left out and listed; else the first one ends the task.
        decode: Every picture is decoded to see that it is whole, even where its bytes are kept.
    """

    number: int
    source: str
    place: str
    pictures: tuple[Picture, ...]
    classes: int
    fractions: tuple[float, ...]
    seed: int
    recipe: Recipe
    rows_per_group: int
    skip_bad: bool = True
    decode: bool = False

    @property
    def bytes(self) -> int:
        """Of its originals."""
        return sum(picture.bytes for picture in self.pictures)


@dataclass(frozen=True)
class Part:
    """What a task wrote for one split.

    Attributes:
        file: The Parquet file.
        bytes: Of the pictures' content.
        counts: Pictures of each label that occurs.
    """

    file: DataFile
    bytes: int
    counts: Mapping[int, int]


@dataclass(frozen=True)
class TaskRecord:
    """What a task has done. It lies in the place's ``_conversion/tasks`` and makes the manifest.

    Attributes:
        number: The task's.
        parts: By split; a split without pictures is not there.
        bad: Pictures that were left out.
        formats: How many originals are of a format ("JPEG").
        turned: Originals stored as they are with an EXIF rotation, which many decoders ignore.
    """

    number: int
    parts: Mapping[str, Part] = field(default_factory=dict)
    bad: tuple[BadPicture, ...] = ()
    formats: Mapping[str, int] = field(default_factory=dict)
    turned: int = 0

    def as_text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_text(text: str) -> TaskRecord:
        """The record that ``as_text`` gave.

        Raises:
            ValueError, KeyError, TypeError: It is none.
        """
        about = json.loads(text)
        parts: dict[str, Part] = {}
        for split, one in about["parts"].items():
            file: dict[str, Any] = {**one["file"], "row_groups": tuple(one["file"]["row_groups"])}
            counts = {int(label): int(rows) for label, rows in one["counts"].items()}
            parts[split] = Part(DataFile(**file), int(one["bytes"]), counts)
        bad = tuple(BadPicture(one["path"], one["reason"]) for one in about["bad"])
        return TaskRecord(about["number"], parts, bad, about["formats"], about["turned"])
