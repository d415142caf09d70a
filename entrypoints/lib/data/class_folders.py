"""Pictures in folders by class: what is there, and which are held out to test on.

FOLDER/train/bread/1.jpg  FOLDER/test/pie/7.png     splits (test, else validation or val)
FOLDER/bread/1.jpg        FOLDER/pie/7.png          none: a fifth of each class is held out
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from .. import storage
from ..errors import TrainingError
from ..pictures.class_folders import walk
from ..pictures.headers import SUFFIXES
from .stored import FilePictures

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif")
TRAINING_FOLDER = "train"
TEST_FOLDERS = ("test", "validation", "val")
TEST_SHARE = 5  # one picture in five is held out where there is no folder for it
MORE = "`launch data parquet` reads more formats"


@dataclass(frozen=True)
class Found:
    """The pictures of a folder.

    Attributes:
        class_names: The classes' folders, empty ones too, sorted; a label is a position in it, the
            same as in a place that is converted from the folder.
        training: To train on.
        test: To test on.
        held_out: Whether the test pictures were taken from the others, by a hash of their names:
            the same in every run, whatever ``--seed`` is.
        others: Pictures of formats that are not read here, such as .webp, by their names.
    """

    class_names: tuple[str, ...]
    training: FilePictures
    test: FilePictures
    held_out: bool
    others: int = 0


def find(folder: str, test_folder: str | None = None) -> Found:
    """The pictures below ``folder``; blocks while its names are listed.

    Args:
        folder: With class folders, or with split folders that have them.
        test_folder: Class folders to test on, where they lie elsewhere.

    Raises:
        TrainingError: There are none, of one class, or none to test on; a place is no folder.
    """
    for place in filter(None, (folder, test_folder)):
        if storage.is_remote(place):
            raise TrainingError(
                f"{place}: pictures are read file by file from folders alone. Convert them with "
                f"`launch data parquet {place} OUT` and add --data parquet:OUT, or give the folder "
                "where the bucket is mounted (/gcs/BUCKET/..., /opt/ml/input/data/CHANNEL)."
            )
    try:
        return _find(folder, test_folder)
    except OSError as error:
        raise TrainingError(
            f"{folder}: cannot be read: {error}. Give this user or role read access."
        ) from error


def _find(folder: str, test_folder: str | None) -> Found:
    subfolders = storage.names(folder)
    if not subfolders:
        raise TrainingError(
            f"{folder}: is no folder or is empty; expected a folder of pictures for each class"
        )
    training_folder = folder
    if TRAINING_FOLDER in subfolders:
        training_folder = storage.join(folder, TRAINING_FOLDER)
        beside = [name for name in TEST_FOLDERS if name in subfolders]
        test_folder = test_folder or (storage.join(folder, beside[0]) if beside else None)
        if test_folder is None:
            raise TrainingError(
                f"{folder}: has {TRAINING_FOLDER}/ and none of {'/, '.join(TEST_FOLDERS)}/, so no "
                "split to test on. Add one, or put the class folders into one folder without "
                "splits, of which a fifth is then held out."
            )
    by_class, others = _by_class(training_folder)
    classes = tuple(sorted(by_class))
    used = _with_pictures(by_class)
    _check(training_folder, used, by_class)
    if test_folder is None:
        return replace(_held_out(folder, classes, by_class), others=others)
    test, tested_others = _by_class(test_folder)
    tested = _with_pictures(test)
    unknown = [name for name in tested if name not in used]
    if unknown or not tested:
        what = f"class {unknown[0]} is not among" if unknown else "no picture of one of"
        raise TrainingError(f"{test_folder}: {what} the {len(used)} classes of {training_folder}")
    return Found(
        classes, _pictures(training_folder, classes, by_class),
        _pictures(test_folder, classes, test), held_out=False, others=others + tested_others,
    )  # fmt: skip


def _check(folder: str, classes: list[str], by_class: dict[str, list[str]]) -> None:
    if not classes:
        raise TrainingError(
            f"{folder}: no picture in a class folder below it; expected files that end with "
            f"{', '.join(ENDINGS)} ({MORE})"
        )
    if len(classes) == 1:
        raise TrainingError(
            f"{folder}: all {len(by_class[classes[0]])} pictures are of one class ({classes[0]}); "
            "expected at least two. Give the folder that holds the classes' folders."
        )


def _held_out(folder: str, classes: tuple[str, ...], by_class: dict[str, list[str]]) -> Found:
    """Of each class the fifth whose names' hashes are lowest, at least one where it has two."""
    training: dict[str, list[str]] = {}
    test: dict[str, list[str]] = {}
    for name, files in by_class.items():
        hashed = sorted(
            files, key=lambda file: hashlib.sha256(file.encode("utf-8", "replace")).digest()
        )
        count = max(len(files) // TEST_SHARE, 1 if len(files) > 1 else 0)
        held_out = set(hashed[:count])
        test[name] = [file for file in files if file in held_out]
        training[name] = [file for file in files if file not in held_out]
    if not any(test.values()):
        raise TrainingError(
            f"{folder}: one picture in each class, so none can be held out to test on. Add "
            "pictures, or train/ and test/ folders."
        )
    return Found(
        classes, _pictures(folder, classes, training), _pictures(folder, classes, test),
        held_out=True,
    )  # fmt: skip


def _pictures(
    folder: str, classes: tuple[str, ...], by_class: dict[str, list[str]]
) -> FilePictures:
    names = [name for one in classes for name in by_class.get(one, [])]
    labels = [label for label, one in enumerate(classes) for _ in by_class.get(one, [])]
    return FilePictures(
        paths=tuple(storage.join(folder, name) for name in names),
        names=tuple(names),
        labels=np.array(labels, np.int64),
    )


def _by_class(folder: str) -> tuple[dict[str, list[str]], int]:
    """(names below ``folder``, "bread/1.jpg", sorted, by class; those of an empty class are none,
    how many pictures of other formats there are)."""
    found: dict[str, list[str]] = {}
    others = 0
    for path, _ in walk(folder):
        name, _, inner = path.partition("/")
        if path.endswith("/"):
            found.setdefault(name, [])
        elif inner and path.lower().endswith(ENDINGS):
            found[name].append(path)
        elif inner and path.lower().endswith(SUFFIXES):
            others += 1
    return {name: sorted(files) for name, files in found.items()}, others


def _with_pictures(by_class: dict[str, list[str]]) -> list[str]:
    return sorted(name for name, files in by_class.items() if files)
