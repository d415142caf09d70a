"""What TensorFlow Datasets leaves on a disk, read without that package: TFRecord files and JSON.

    DATA_DIR/NAME[/CONFIG]/VERSION/dataset_info.json     splits and their shards
    .../features.json                                    what a record holds
    .../NAME-train.tfrecord-00000-of-00001               records: tf.train.Example

The format: https://www.tensorflow.org/datasets/external_tfrecord and the package's own
``core/utils/shard_utils.py``. The package itself is needed only to download and prepare a data set.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any, Callable, Mapping

import numpy as np

from .. import places, storage
from ..errors import TrainingError
from .tfds_records import Records, labels_of, places_in_file

HOME = os.path.join("~", "tensorflow_datasets")  # the package's default
HOME_VARIABLE = "TFDS_DATA_DIR"
INFO, FEATURES = "dataset_info.json", "features.json"
TEST_SPLITS = ("test", "validation")
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_NAME = re.compile(r"[A-Za-z0-9_]+(/[A-Za-z0-9_.-]+)?(:\d+\.\d+\.\d+)?")


@dataclass(frozen=True)
class Found:
    """A prepared data set: its folder, its classes by label, its pictures."""

    folder: str
    class_names: tuple[str, ...]
    training: Records
    test: Records


def find(
    name: str,
    data_dir: str | None,
    environment: Mapping[str, str],
    prepare: Callable[[str], None],
) -> Found:
    """The data set ``name``: NAME, NAME/CONFIG, NAME:VERSION or NAME/CONFIG:VERSION.

    Args:
        name: As the package names it.
        data_dir: The only place to look in; None for TFDS_DATA_DIR, the input channels and the
            package's own folder.
        environment: Of this process.
        prepare: Downloads and prepares it into a folder where it is in none.

    Raises:
        TrainingError: It is nowhere, damaged, or no classification of pictures.
    """
    if not _NAME.fullmatch(name):
        raise TrainingError(
            f"--data tfds:{name}: expected tfds:NAME, with /CONFIG and :VERSION where it has them"
        )
    looked = _folders(data_dir, environment)
    folder = _first_with(looked, name)
    if folder is None:
        prepare(looked[0])
        folder = _first_with(looked[:1], name)
    if folder is None:
        raise TrainingError(
            f"--data tfds:{name}: not in {', '.join(looked)}. Give the folder in which it was "
            "prepared with --data-dir."
        )
    try:
        return _read_folder(folder, name)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise TrainingError(
            f"{folder}: not as TensorFlow Datasets writes it ({type(error).__name__}: {error}). "
            "Prepare it anew."
        ) from error
    except OSError as error:
        raise TrainingError(f"{folder}: cannot be read: {error}") from error


def prepare(name: str, folder: str) -> None:
    """Downloads the data set with the package, and prepares it in ``folder``; takes minutes.

    Raises:
        TrainingError: The package is not installed, knows no such data set, or cannot fetch it.
    """
    try:
        import tensorflow_datasets
    except ImportError as error:
        raise TrainingError(
            f"--data tfds:{name}: {folder} does not have it, and the package that downloads it is "
            f"not installed ({error}). Prepare it elsewhere and give the folder with --data-dir, "
            "or install tensorflow-datasets."
        ) from error
    try:
        tensorflow_datasets.builder(name, data_dir=folder).download_and_prepare()
    except Exception as error:  # whatever a download can raise
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise TrainingError(
            f"--data tfds:{name}: cannot be downloaded and prepared in {folder}: {line}. Prepare "
            "it elsewhere and give the folder with --data-dir."
        ) from error


def _folders(data_dir: str | None, environment: Mapping[str, str]) -> list[str]:
    if data_dir:
        return [places.on_this_machine(data_dir)]
    own = environment.get(HOME_VARIABLE) or os.path.expanduser(HOME)
    return [own, *(path for _, path in places.channels(environment))]


def _first_with(folders: list[str], name: str) -> str | None:
    found = (_version_folder(folder, name) for folder in folders)
    return next((folder for folder in found if folder), None)


def _version_folder(folder: str, name: str) -> str | None:
    """The folder of a version in ``folder``: the newest unless ``name`` says which."""
    base, _, version = name.partition(":")
    if INFO in storage.names(folder):
        return folder
    at = folder
    for part in base.split("/"):
        at = storage.join(at, part)
    for place in (at, *(storage.join(at, config) for config in storage.names(at))):
        versions = [one for one in storage.names(place) if _VERSION.fullmatch(one)]
        versions = [one for one in versions if version in ("", one)]
        if versions:
            newest = max(versions, key=lambda one: [int(part) for part in one.split(".")])
            return storage.join(place, newest)
    return None


def _read_folder(folder: str, name: str) -> Found:
    info = json.loads(storage.read(storage.join(folder, INFO)))
    kind = info.get("fileFormat", "tfrecord")
    if kind != "tfrecord":
        raise TrainingError(f"{folder}: its files are {kind}; expected tfrecord. Prepare it so.")
    image, label, count = _features(folder)
    splits = {split["name"]: split for split in info["splits"]}
    test = next((one for one in TEST_SPLITS if one in splits), None)
    if "train" not in splits or test is None:
        raise TrainingError(
            f"{folder}: has the splits {', '.join(sorted(splits))}; expected train, and "
            f"{' or '.join(TEST_SPLITS)} to test on"
        )
    names = _class_names(folder, label, count)
    if len(names) < 2:
        raise TrainingError(f"{folder}: has one class; expected at least two")
    training, testing = (
        _records(folder, str(info["name"]), one, splits[one], image, label, len(names))
        for one in ("train", test)
    )
    return Found(folder, names, training, testing)


def _features(folder: str) -> tuple[str, str, int]:
    """(name of the picture, name of the label, number of classes) of a record."""
    about = json.loads(storage.read(storage.join(folder, FEATURES)))
    features = about["featuresDict"]["features"]
    images = [name for name, one in features.items() if "image" in one]
    labels = [name for name, one in features.items() if "classLabel" in one]
    if not images or not labels:
        raise TrainingError(
            f"{folder}: records have {', '.join(sorted(features))}; expected a picture and a class "
            "label among them, so it is no classification of pictures"
        )
    image = "image" if "image" in images else images[0]
    label = "label" if "label" in labels else labels[0]
    return image, label, int(features[label]["classLabel"]["numClasses"])


def _class_names(folder: str, label: str, count: int) -> tuple[str, ...]:
    listed = f"{label}.labels.txt"
    if listed not in storage.names(folder):
        return tuple(str(number) for number in range(count))
    text = storage.read(storage.join(folder, listed)).decode("utf-8")
    return tuple(text.splitlines()[:count])


def _records(
    folder: str,
    name: str,
    split: str,
    about: Mapping[str, Any],
    image: str,
    label: str,
    classes: int,
) -> Records:
    shards = [int(rows) for rows in about["shardLengths"]]
    files = tuple(
        storage.join(folder, f"{name}-{split}.tfrecord-{shard:05d}-of-{len(shards):05d}")
        for shard in range(len(shards))
    )
    found = []
    for number, (path, rows) in enumerate(zip(files, shards)):
        places_in = places_in_file(path)
        if len(places_in) != rows:
            raise TrainingError(
                f"{path}: holds {len(places_in)} whole records; {INFO} says {rows}. Copy it again."
            )
        found += [(number, offset, length) for offset, length in places_in]
    file_of, offsets, lengths = (np.array(column, np.int64) for column in zip(*found))
    labels = labels_of(files, label, classes)
    return Records(files, file_of, offsets, lengths, labels, image)
