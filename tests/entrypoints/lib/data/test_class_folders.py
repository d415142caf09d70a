"""Folders of pictures: which are found, which are held out, what is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entrypoints.lib.data.dataset import Part
from entrypoints.lib.errors import TrainingError
from tests.entrypoints.lib.pictures import samples
from tests.entrypoints.numbered_pictures import picture, write_folders

pytestmark = pytest.mark.horovod


@pytest.fixture
def class_folders(tensorflow: Any) -> Any:
    from entrypoints.lib.data import class_folders

    return class_folders


def data_set(found: Any, size: tuple[int, int] | None = None) -> Any:
    from entrypoints.lib.data.encoded import EncodedPictures

    return EncodedPictures(
        "images", "a test", found.class_names, found.training, found.test, size
    )  # fmt: skip


def test_without_split_folders_a_fifth_of_each_class_is_held_out_always_the_same(
    class_folders: Any, tmp_path: Path
) -> None:
    found = class_folders.find(str(write_folders(tmp_path, 45)))
    assert found.held_out
    assert found.class_names == ("class 0", "class 1", "class 2")
    assert np.bincount(found.training.labels).tolist() == [12, 12, 12]
    assert np.bincount(found.test.labels).tolist() == [3, 3, 3]
    assert not set(found.training.names) & set(found.test.names)
    again = class_folders.find(str(tmp_path))
    assert again.test.names == found.test.names
    assert again.training.fingerprint() == found.training.fingerprint()


@pytest.mark.parametrize("beside", ["test", "validation", "val"])
def test_split_folders_are_what_is_trained_and_tested_on(
    class_folders: Any, tmp_path: Path, beside: str
) -> None:
    write_folders(tmp_path / "train", 9)
    write_folders(tmp_path / beside, 6)
    (tmp_path / "train" / "class 1" / "notes.txt").touch()
    (tmp_path / "train" / ".cache").mkdir()
    (tmp_path / "train" / "class 2" / "more").mkdir()
    (tmp_path / "train" / "class 2" / "more" / "x.JPG").touch()
    found = class_folders.find(str(tmp_path))
    assert not found.held_out
    assert (len(found.training.labels), len(found.test.labels)) == (10, 6)
    assert found.training.names[-1] == "class 2/more/x.JPG"


@pytest.mark.parametrize("target", ["..", "../..", "round", "."])
def test_a_link_that_leads_round_is_not_followed(
    class_folders: Any, tmp_path: Path, target: str
) -> None:
    for place in (tmp_path / "train", tmp_path / "test"):
        write_folders(place, 9)
        (place / "class 3").symlink_to("class 2")
    (tmp_path / "train" / "class 0" / "round").symlink_to(target)
    found = class_folders.find(str(tmp_path))
    assert found.class_names == ("class 0", "class 1", "class 2", "class 3")
    for pictures in (found.training, found.test):
        assert np.bincount(pictures.labels).tolist() == [3, 3, 3, 3], "a sibling is no way round"


def test_classes_and_labels_are_those_of_the_converter(class_folders: Any, tmp_path: Path) -> None:
    from entrypoints.lib.conversion.listing import listed

    write_folders(tmp_path, 30)
    for name in ("_x", "__MACOSX", ".hidden", "a"):
        shutil.copytree(tmp_path / "class 0", tmp_path / name)
    shutil.rmtree(tmp_path / "__MACOSX")
    (tmp_path / "__MACOSX").mkdir()
    (tmp_path / "a" / "_1.png").write_bytes(picture(1, 0))
    (tmp_path / "a" / "._1.png").touch()
    (tmp_path / "class 1 without pictures").mkdir()
    found, theirs = class_folders.find(str(tmp_path)), listed(str(tmp_path))
    assert found.class_names == theirs.classes
    assert found.class_names[:3] == ("__MACOSX", "_x", "a")
    ours = [*zip(found.training.names, found.training.labels.tolist(), strict=True)]
    ours += zip(found.test.names, found.test.labels.tolist(), strict=True)
    assert sorted(ours) == [(one.path, one.label) for one in theirs.pictures]


def test_a_name_that_is_no_utf_8_is_read_and_said(class_folders: Any, tmp_path: Path) -> None:
    write_folders(tmp_path / "train", 6)
    write_folders(tmp_path / "test", 3)
    bad = os.path.join(os.fsencode(tmp_path), b"train", b"class 1", b"bad\xff.png")
    with open(bad, "wb") as file:
        file.write(picture(6, 1))
    found = class_folders.find(str(tmp_path))
    data = data_set(found)
    part = Part(rank=0, world_size=1, batch_size=7, seed=1)
    ((pixels, _),) = data.course(part, None).batches(1)
    assert sorted(pixels.numpy()[:, 0, 0, 0].astype(int).tolist()) == list(range(7))
    told = rf"^{tmp_path}/train/class 1/bad\\xff\.png: (no picture that|cannot be read)"
    with open(bad, "wb") as file:
        file.write(b"none")
    with pytest.raises(TrainingError, match=told):
        data_set(found)
    os.remove(bad)
    with pytest.raises(TrainingError, match=told):
        data_set(found)
    with pytest.raises(TrainingError, match=told), data.explaining():
        list(data.course(part, None).batches(1))


def test_a_picture_that_pillow_alone_reads_is_told_with_what_converts_it(
    class_folders: Any, tmp_path: Path
) -> None:
    write_folders(tmp_path / "train", 9)
    write_folders(tmp_path / "test", 3)
    (tmp_path / "train" / "class 0" / "0000.png").write_bytes(b"II*\0 a TIFF")
    with pytest.raises(TrainingError, match=r"0000\.png: [^:]* decode TIFF: .* --format jpeg"):
        data_set(class_folders.find(str(tmp_path)))


def test_pictures_of_other_formats_are_counted_and_other_files_are_not(
    class_folders: Any, tmp_path: Path
) -> None:
    write_folders(tmp_path / "train", 9)
    write_folders(tmp_path / "test", 3)
    for name in ("train/class 0/a.webp", "train/class 0/b.TIF", "test/class 1/c.webp"):
        (tmp_path / name).touch()
    for name in ("train/class 0/Thumbs.db", "train/class 0/.hidden.webp", "train/outside.webp"):
        (tmp_path / name).touch()
    assert class_folders.find(str(tmp_path)).others == 3
    assert class_folders.find(str(tmp_path / "train")).others == 2


def test_a_name_of_two_lines_is_one_line_where_it_is_told(
    class_folders: Any, tmp_path: Path
) -> None:
    write_folders(tmp_path, 9)
    (tmp_path / "class 0" / "two\nlines\x1b[31m.png").touch()
    with pytest.raises(TrainingError, match=r"/two\\nlines\\x1b\[31m\.png: ") as refused:
        data_set(class_folders.find(str(tmp_path)))
    assert "\n" not in str(refused.value)


def test_pictures_are_as_large_as_they_are_seen_with_tensorflow_and_with_pillow(
    class_folders: Any, tmp_path: Path
) -> None:
    from entrypoints.lib.data.decoded import DecodedPictures

    for number in range(8):
        upright = number % 2
        content = samples.turned(*((16, 24) if upright else (24, 16)), 1 if upright else 6)
        path = tmp_path / f"class {number // 4}" / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    found = class_folders.find(str(tmp_path))
    ours = DecodedPictures("images", "a test", found.class_names, found.training, found.test, None)
    theirs = data_set(found)
    assert ours.shape == theirs.shape == (24, 16, 3)
    for mine, other in zip(ours.test_arrays(0, 1, 8), theirs.test_arrays(0, 1, 8), strict=True):
        assert np.abs(mine[0] - other[0]).mean() < 12


def test_a_channel_of_its_own_can_hold_the_test_pictures(
    class_folders: Any, tmp_path: Path
) -> None:
    write_folders(tmp_path / "a", 9)
    write_folders(tmp_path / "b", 3)
    found = class_folders.find(str(tmp_path / "a"), str(tmp_path / "b"))
    assert (len(found.training.labels), len(found.test.labels)) == (9, 3)


def test_pictures_are_decoded_to_their_stored_size_or_the_one_that_is_asked_for(
    class_folders: Any, tmp_path: Path
) -> None:
    found = class_folders.find(str(write_folders(tmp_path, 30, side=10)))
    data = data_set(found)
    assert data.shape == (10, 10, 3)
    part = Part(rank=0, world_size=1, batch_size=4, seed=1)
    seen = set()
    for pixels, labels in data.course(part, None).batches(1):
        for one, label in zip(pixels.numpy(), labels.numpy(), strict=True):
            assert int(one[0, 0, 0]) % 3 == label
            seen.add(int(one[0, 0, 0]))
    tested = [int(one[0, 0, 0]) for batch, _ in data.test_batches(0, 1, 4) for one in batch]
    assert sorted([*seen, *tested]) == list(range(30))
    assert data_set(found, (20, 8)).shape == (8, 20, 3)
    (tmp_path / "class 0" / "0000.png").write_bytes(picture(0, 0, side=11))
    assert data_set(class_folders.find(str(tmp_path))).shape == (224, 224, 3)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda place: shutil.rmtree(place), "is no folder or is empty"),
        (lambda place: (shutil.rmtree(place), place.mkdir()), "is no folder or is empty"),
        (lambda place: [path.unlink() for path in place.rglob("*.png")], "no picture in a class"),
        (
            lambda place: [shutil.rmtree(place / f"class {n}") for n in (1, 2)],
            r"all 3 pictures are of one class \(class 0\)",
        ),
        (lambda place: (place / "train").mkdir(), "so no split to test on"),
        (
            lambda place: [p.unlink() for p in place.rglob("*.png") if int(p.stem) > 2],
            "one picture in each class",
        ),
    ],
    ids=["absent", "empty", "no pictures", "one class", "no test folder", "nothing to hold out"],
)
def test_a_folder_that_cannot_be_trained_on_is_refused_with_the_fix(
    class_folders: Any, tmp_path: Path, spoil: Any, told: str
) -> None:
    place = write_folders(tmp_path / "place", 9)
    spoil(place)
    with pytest.raises(TrainingError, match=told) as refused:
        class_folders.find(str(place))
    assert str(place) in str(refused.value)


@pytest.mark.parametrize("places", [("gs://b/food",), ("here", "s3://b/food")])
def test_a_bucket_is_no_folder_to_read_pictures_from_one_by_one(
    class_folders: Any, places: Any
) -> None:
    with pytest.raises(
        TrainingError, match=r"^(gs|s3)://b/food: .*`launch data parquet \1://b/food"
    ):
        class_folders.find(*places)


def test_a_class_that_is_tested_and_not_trained_is_refused(
    class_folders: Any, tmp_path: Path
) -> None:
    write_folders(tmp_path / "train", 9)
    write_folders(tmp_path / "test", 3)
    (tmp_path / "test" / "class 0").rename(tmp_path / "test" / "other")
    with pytest.raises(TrainingError, match="class other is not among the 3 classes"):
        class_folders.find(str(tmp_path))


def test_a_picture_that_is_none_is_named_before_training_or_when_it_is_met(
    class_folders: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from entrypoints.lib.data import stored

    write_folders(tmp_path / "train", 30)
    write_folders(tmp_path / "test", 3)
    bad = tmp_path / "train" / "class 1" / "0010.png"
    bad.write_bytes(bad.read_bytes()[:60])
    with pytest.raises(
        TrainingError, match=rf"^{bad}: no picture that can be decoded \([^{{\[]+\)\. "
    ):
        data_set(class_folders.find(str(tmp_path)))
    monkeypatch.setattr(stored, "LOOKED_AT", 3)
    data = data_set(class_folders.find(str(tmp_path)))
    course = data.course(Part(rank=0, world_size=1, batch_size=4, seed=1), None)
    with pytest.raises(TrainingError, match=f"^{bad}: no picture"), data.explaining():
        list(course.batches(1))


def test_pillow_reads_the_same_pictures_in_the_same_order_and_names_one_that_is_none(
    class_folders: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from entrypoints.lib.data import stored
    from entrypoints.lib.data.decoded import DecodedPictures

    write_folders(tmp_path / "train", 30)
    write_folders(tmp_path / "test", 5)
    found = class_folders.find(str(tmp_path))
    ours = DecodedPictures("images", "a test", found.class_names, found.training, found.test, None)
    theirs = data_set(found)
    assert (ours.shape, ours.fingerprint()) == (theirs.shape, theirs.fingerprint())
    part = Part(rank=1, world_size=2, batch_size=4, seed=1)
    batches = [[each.numpy() for each in b] for b in theirs.course(part, None).batches(1)]
    for mine, other in zip(ours.course(part, None).arrays(1), batches, strict=True):
        assert mine[0].dtype == np.uint8
        assert np.array_equal(mine[0], other[0])  # PNG, at the stored size
        assert np.array_equal(mine[1], other[1])
    assert [len(labels) for _, labels in ours.test_arrays(0, 2, 2)] == [2, 1]

    monkeypatch.setattr(stored, "LOOKED_AT", 3)
    bad = tmp_path / "train" / "class 1" / "0010.png"
    bad.write_bytes(bad.read_bytes()[:60])
    with pytest.raises(TrainingError, match=f"^{bad}: .*Mend or remove it"):
        list(ours.course(part, None).arrays(2))
