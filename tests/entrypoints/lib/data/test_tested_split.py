"""What a place of Parquet is tested on: never what it is trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from entrypoints.lib.data import layout
from entrypoints.lib.data.parquet_place import open_place
from entrypoints.lib.data.tested_split import to_test_on
from entrypoints.lib.errors import TrainingError

from .places_of_parquet import write_file


def write_splits(root: Path, *splits: str, manifest: bool = True) -> Path:
    """A place whose splits have one file each."""
    made = {}
    for split in splits:
        file = write_file(root / split / "part-0.parquet", [0, 1], [b"a", b"b"], 4)
        made[split] = layout.Split(2, 2, (1, 1), (file,))
    if manifest:
        text = layout.as_text(layout.Manifest(("cat", "dog"), made))
        (root / layout.MANIFEST).write_text(text)
    return root


def folder_for(address: Any, beside: Any = None) -> str:
    """The folder that is tested on."""
    found = to_test_on(open_place(str(address)), None if beside is None else str(beside))
    return Path(found.files[0]).parent.name


@pytest.mark.parametrize("manifest", [True, False])
@pytest.mark.parametrize(
    ("trained", "expected"),
    [(".", "test"), ("train", "test"), ("validation", "test"), ("test", "validation")],
)
def test_the_first_split_that_is_not_trained_on_is_tested_on(
    tmp_path: Path, trained: str, expected: str, manifest: bool
) -> None:
    place = write_splits(tmp_path, "train", "validation", "test", manifest=manifest)
    assert folder_for(place / trained) == expected


@pytest.mark.parametrize("manifest", [True, False])
@pytest.mark.parametrize("trained", ["validation", "test"])
def test_a_split_that_has_no_other_one_to_be_tested_on_is_refused(
    tmp_path: Path, trained: str, manifest: bool
) -> None:
    place = write_splits(tmp_path, "train", trained, manifest=manifest)
    assert folder_for(place) == folder_for(place / "train") == trained
    told = rf"{place}/{trained}: is trained on, .*Give {place} or {place}/train, which .*{trained}"
    with pytest.raises(TrainingError, match=told):
        folder_for(place / trained)


def test_a_split_is_known_from_the_folder_in_which_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_splits(tmp_path, "train", "validation")
    monkeypatch.chdir(tmp_path / "validation")
    with pytest.raises(TrainingError, match="is trained on"):
        folder_for(".")


def test_a_place_whose_own_name_is_a_split_is_a_place(tmp_path: Path) -> None:
    write_splits(tmp_path / "test", "train", "test", manifest=False)
    assert folder_for(tmp_path / "test") == "test"


def test_files_beside_a_folder_of_others_are_no_split_of_it(tmp_path: Path) -> None:
    write_splits(tmp_path, "test", manifest=False)
    (tmp_path / "other.parquet").write_text("none")
    with pytest.raises(TrainingError, match="is trained on"):
        folder_for(tmp_path / "test")


def test_the_same_files_under_another_name_are_not_tested_on(tmp_path: Path) -> None:
    place = write_splits(tmp_path / "place", "train", manifest=False)
    (place / "test").symlink_to("train")
    with pytest.raises(TrainingError, match="has no split to test on"):
        folder_for(place)
    (tmp_path / "channel").symlink_to(place / "train")
    with pytest.raises(TrainingError, match=r"channel: would be trained on and tested on"):
        folder_for(place / "train", tmp_path / "channel")
