"""Data sets as TensorFlow Datasets 4 writes them: read without that package, checked before use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entrypoints.lib.data.dataset import Part
from entrypoints.lib.errors import TrainingError
from tests.entrypoints.numbered_pictures import CLASSES, picture

pytestmark = pytest.mark.horovod

SHARDS = {"train": [13, 10], "test": [7]}


@pytest.fixture
def tfds_files(tensorflow: Any) -> Any:
    from entrypoints.lib.data import tfds_files

    return tfds_files


def write(tensorflow: Any, data_dir: Path, version: str = "1.2.0", config: str = "") -> Path:
    """A prepared data set ``tiny``: pictures 0 to 22 to train on, 23 to 29 to test on."""
    folder = data_dir / "tiny" / config / version
    folder.mkdir(parents=True)
    number = 0
    for split, shards in SHARDS.items():
        for shard, count in enumerate(shards):
            name = f"tiny-{split}.tfrecord-{shard:05d}-of-{len(shards):05d}"
            with tensorflow.io.TFRecordWriter(str(folder / name)) as writer:
                for _ in range(count):
                    writer.write(example(tensorflow, number))
                    number += 1
    splits = [
        {
            "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
            "name": split,
            "numBytes": "1",
            "shardLengths": [str(count) for count in shards],
        }
        for split, shards in SHARDS.items()
    ]
    info = {"fileFormat": "tfrecord", "name": "tiny", "splits": splits, "version": version}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    kind = "tensorflow_datasets.core.features"
    features = {
        "image": {
            "pythonClassName": f"{kind}.image_feature.Image",
            "image": {"shape": {"dimensions": ["-1", "-1", "3"]}, "encodingFormat": "png"},
        },
        "label": {
            "pythonClassName": f"{kind}.class_label_feature.ClassLabel",
            "classLabel": {"numClasses": str(CLASSES)},
        },
    }
    about = {"pythonClassName": f"{kind}.features_dict.FeaturesDict"}
    text = json.dumps({**about, "featuresDict": {"features": features}})
    (folder / "features.json").write_text(text)
    (folder / "label.labels.txt").write_text("a\nb\nc\n")
    return folder


def example(tensorflow: Any, number: int) -> bytes:
    train = tensorflow.train
    content = train.BytesList(value=[picture(number, number % CLASSES)])
    label = train.Int64List(value=[number % CLASSES])
    features = {
        "image": train.Feature(bytes_list=content),
        "label": train.Feature(int64_list=label),
    }
    made: bytes = train.Example(features=train.Features(feature=features)).SerializeToString()
    return made


def no_download(folder: str) -> None:
    raise TrainingError(f"asked to prepare in {folder}")


def test_a_prepared_data_set_is_read_by_its_records(
    tensorflow: Any, tfds_files: Any, tmp_path: Path
) -> None:
    from entrypoints.lib.data.encoded import EncodedPictures

    folder = write(tensorflow, tmp_path)
    found = tfds_files.find("tiny", str(tmp_path), {}, no_download)
    assert (found.folder, found.class_names) == (str(folder), ("a", "b", "c"))
    data = EncodedPictures(
        "tfds", found.folder, found.class_names, found.training, found.test, None
    )  # fmt: skip
    assert (data.training_count, data.test_count, data.shape) == (23, 7, (12, 12, 3))
    course = data.course(Part(rank=0, world_size=1, batch_size=4, seed=1), None)
    seen = []
    for pixels, labels in course.batches(1):
        numbers = pixels.numpy()[:, 0, 0, 0].astype(int).tolist()
        assert [number % CLASSES for number in numbers] == labels.numpy().tolist()
        seen += numbers
    assert sorted(seen) == list(range(23))
    tested = [int(one[0, 0, 0]) for batch, _ in data.test_batches(0, 1, 4) for one in batch]
    assert tested == list(range(23, 30))
    assert len(found.training.first(5).labels) == 5


def test_name_configuration_and_version_say_which_the_newest_is_the_default(
    tensorflow: Any, tfds_files: Any, tmp_path: Path
) -> None:
    folders = {version: write(tensorflow, tmp_path, version) for version in ("1.9.0", "1.10.0")}
    configured = write(tensorflow, tmp_path / "other", "1.0.0", "small")

    def folder(name: str, data_dir: Path = tmp_path) -> str:
        found: str = tfds_files.find(name, str(data_dir), {}, no_download).folder
        return found

    assert folder("tiny") == str(folders["1.10.0"])
    assert folder("tiny:1.9.0") == str(folders["1.9.0"])
    assert folder("tiny/small", tmp_path / "other") == str(configured)
    assert folder("tiny", configured) == str(configured)  # a channel that is that very folder
    channel = {"SM_CHANNEL_TRAINING": str(tmp_path), "TFDS_DATA_DIR": str(tmp_path / "none")}
    assert tfds_files.find("tiny", None, channel, no_download).folder == str(folders["1.10.0"])


def test_what_is_nowhere_is_prepared_once_in_the_first_place(
    tensorflow: Any, tfds_files: Any, tmp_path: Path
) -> None:
    def prepare(folder: str) -> None:
        write(tensorflow, Path(folder))

    found = tfds_files.find("tiny", str(tmp_path), {}, prepare)
    assert len(found.training.labels) == 23
    with pytest.raises(TrainingError, match="package that downloads it is not installed"):
        tfds_files.find("other", str(tmp_path), {}, lambda at: tfds_files.prepare("other", at))
    with pytest.raises(TrainingError, match="expected tfds:NAME"):
        tfds_files.find("../tiny", str(tmp_path), {}, no_download)


def cut(folder: Path) -> None:
    path = folder / "tiny-train.tfrecord-00001-of-00002"
    path.write_bytes(path.read_bytes()[:-5])


def change(name: str, old: str, new: str) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return changed


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (cut, "holds 9 whole records; dataset_info.json says 10. Copy it again"),
        (lambda folder: (folder / "tiny-test.tfrecord-00000-of-00001").unlink(), "cannot be read"),
        (lambda folder: (folder / "features.json").write_text("{"), "not as TensorFlow Datasets"),
        (change("features.json", "classLabel", "text"), "so it is no classification of pictures"),
        (change("features.json", '"3"}', '"2"}'), "labels from 0 to 2 and 2 classes"),
        (change("dataset_info.json", "tfrecord", "array_record"), "its files are array_record"),
        (change("dataset_info.json", '"test"', '"extra"'), "has the splits extra, train"),
    ],
    ids=["cut", "missing", "no JSON", "no label", "label", "format", "no test"],
)
def test_what_is_damaged_or_of_another_kind_is_named(
    tensorflow: Any, tfds_files: Any, tmp_path: Path, spoil: Callable[[Path], None], told: str
) -> None:
    folder = write(tensorflow, tmp_path)
    spoil(folder)
    with pytest.raises(TrainingError, match=told) as refused:
        tfds_files.find("tiny", str(tmp_path), {}, no_download)
    assert str(folder) in str(refused.value)
