from __future__ import annotations

import os
from pathlib import Path

import pytest

from entrypoints.lib.conversion import listing
from entrypoints.lib.errors import TrainingError
from tests.rights import open_folder, without_rights


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    return folder


def paths(found: listing.Listing) -> list[str]:
    return [picture.path for picture in found.pictures]


def test_the_first_level_is_the_class_and_what_is_below_belongs_to_it(tmp_path: Path) -> None:
    touch(tmp_path, "b/2.jpg", "b/deep/er/1.PNG", "a/3.jpeg")
    found = listing.listed(str(tmp_path))
    assert found.classes == ("a", "b")
    assert [(picture.path, picture.label, picture.bytes) for picture in found.pictures] == [
        ("a/3.jpeg", 0, 1),
        ("b/2.jpg", 1, 1),
        ("b/deep/er/1.PNG", 1, 1),
    ]


def test_hidden_files_are_left_out_and_other_files_are_counted(tmp_path: Path) -> None:
    touch(tmp_path, "a/1.jpg", "a/.2.jpg", ".git/3.jpg", "a/.trash/4.jpg", "a/notes.txt", "5.jpg")
    touch(tmp_path, "a/_DSC1.jpg")
    found = listing.listed(str(tmp_path))
    assert paths(found) == ["a/1.jpg", "a/_DSC1.jpg"]
    assert found.classes == ("a",)
    assert found.ignored == 2


def test_names_that_are_the_same_as_text_are_refused(tmp_path: Path) -> None:
    for name in (b"b\xff", b"b\xfe"):
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
        touch(tmp_path / os.fsdecode(name), "1.jpg")
    with pytest.raises(TrainingError, match="differ as text; rename one"):
        listing.listed(str(tmp_path))


def test_links_are_followed_but_never_round_and_round(tmp_path: Path) -> None:
    touch(tmp_path, "images/a/1.jpg", "elsewhere/b/2.jpg")
    (tmp_path / "images" / "b").symlink_to(tmp_path / "elsewhere" / "b")
    (tmp_path / "images" / "a" / "3.jpg").symlink_to(tmp_path / "elsewhere" / "b" / "2.jpg")
    (tmp_path / "images" / "a" / "round").symlink_to(tmp_path / "images")
    (tmp_path / "images" / "a" / "above").symlink_to("../..")
    (tmp_path / "images" / "a" / "itself").symlink_to("itself")
    (tmp_path / "images" / "a" / "nowhere.jpg").symlink_to(tmp_path / "gone.jpg")
    found = listing.listed(str(tmp_path / "images"))
    assert paths(found) == ["a/1.jpg", "a/3.jpg", "a/nowhere.jpg", "b/2.jpg"]


def test_what_is_neither_file_nor_folder_is_no_picture(tmp_path: Path) -> None:
    touch(tmp_path, "a/1.jpg")
    os.mkfifo(tmp_path / "a" / "pipe.jpg")
    assert paths(listing.listed(str(tmp_path))) == ["a/1.jpg"]


def test_a_class_without_pictures_stays_one_and_is_told(tmp_path: Path) -> None:
    touch(tmp_path, "a/1.jpg", "b/none.txt", "c/2.jpg")
    found = listing.listed(str(tmp_path))
    assert found.classes == ("a", "b", "c")
    assert found.pictures[-1].label == 2
    assert found.warnings() == [
        "no picture in b: they stay classes, so that labels are as elsewhere"
    ]


def test_one_class_is_told_with_the_folder_that_may_have_been_meant(tmp_path: Path) -> None:
    touch(tmp_path, "images/cat/1.jpg", "images/dog/1.jpg")
    (warning,) = listing.listed(str(tmp_path)).warnings()
    assert warning == "one class, images; if cat, dog in it are the classes, convert that folder"


@pytest.mark.parametrize("names", [[], ["1.jpg"], ["a/notes.txt"], [".a/1.jpg"]])
def test_a_folder_without_pictures_in_class_folders_is_refused(
    tmp_path: Path, names: list[str]
) -> None:
    touch(tmp_path, *names)
    with pytest.raises(TrainingError, match=r"no picture in a class folder .* expected .*/CLASS/"):
        listing.listed(str(tmp_path))


def test_a_source_that_is_not_there_or_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="No such file"):
        listing.listed(str(tmp_path / "gone"))
    with pytest.raises(TrainingError, match="Not a directory"):
        listing.listed(str(touch(tmp_path, "file") / "file"))


def test_a_class_folder_that_may_not_be_read_is_named() -> None:
    with open_folder() as folder:
        touch(folder, "cat/1.png", "dog/2.png")
        with (
            without_rights(folder / "dog"),
            pytest.raises(TrainingError, match=f"{folder}/dog/: cannot be listed: Permission d"),
        ):
            listing.listed(str(folder))
