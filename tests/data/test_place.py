"""What a place holds, and everything that is no place."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from launchers.data import reading_program
from launchers.data.place import (
    Place,
    chosen_splits,
    problems_in_files,
    problems_in_hashes,
    read_place,
)
from launchers.data.reading_program import RefusedError
from tests.data.made import parquet, picture, place
from tests.refusals import refused


def nothing_is_started() -> NoReturn:
    raise AssertionError("a manifest needs no other Python")


def own_python() -> str:
    return sys.executable


def read(folder: Path) -> Place:
    return read_place(str(folder), nothing_is_started)


@pytest.fixture
def food(tmp_path: Path) -> Path:
    return place(tmp_path / "food", {"train": [4, 4, 3], "test": [2]})


def test_a_place_is_read_from_its_manifest_alone(food: Path):
    found = read(food)

    assert found.classes == ("apple pie", "bibimbap", "churros")
    assert [(one.name, one.rows, one.row_groups) for one in found.splits] == [
        ("train", 11, (4, 4, 3)),
        ("test", 2, (2,)),
    ]
    assert found.bad == (("churros/1.jpg", "ends in the middle"),)
    assert problems_in_files(found) == []
    assert "pyarrow" not in {name.partition(".")[0] for name in vars(sys.modules[read.__module__])}


def test_a_folder_of_a_split_is_that_split_alone(food: Path, monkeypatch: pytest.MonkeyPatch):
    assert [one.name for one in read(food / "test").splits] == ["test"]
    monkeypatch.chdir(food / "test")
    assert [one.name for one in read(Path(".")).splits] == ["test"]


def test_a_split_that_is_not_there_is_refused_with_those_that_are(food: Path):
    with refused("data-split", match="no split validation; expected train or test"):
        chosen_splits(read(food), "validation")
    (food / "validation").mkdir()
    with refused("data-split"):
        read(food / "validation")


@pytest.mark.parametrize("name", ["nosuch", "empty", "a file", "photos"])
def test_what_is_no_place_is_refused(name: str, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "a file").write_text("x")
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    (tmp_path / "photos" / "cat" / "1.jpg").write_bytes(b"x")
    with refused("data-place", match="launch data parquet"):
        read(tmp_path / name)


def test_an_unfinished_conversion_is_refused_with_how_to_go_on(food: Path):
    (food / "manifest.json").unlink()
    (food / "_conversion").mkdir()
    with refused("data-unfinished", match="it resumes where it was"):
        read(food)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: text.replace('"rows": 11', '"rows": 12', 1),
        lambda text: text.replace('"version": 1', '"version": 99'),
        lambda text: text.replace("train/part-00000.parquet", "../part-00000.parquet"),
    ],
    ids=["cut", "another document", "changed by hand", "newer", "outside"],
)
def test_a_damaged_manifest_is_refused(food: Path, damage):
    file = food / "manifest.json"
    before = file.read_text("utf-8")
    file.write_text(damage(before), "utf-8")
    assert file.read_text("utf-8") != before
    with refused("data-manifest"):
        read(food)


def test_a_file_that_is_gone_or_cut_short_is_told(food: Path):
    (food / "train" / "part-00000.parquet").write_bytes(b"cut")
    (food / "test" / "part-00000.parquet").unlink()

    cut, gone = problems_in_files(read(food))

    assert (cut.rule, cut.found, cut.expected) == ("data-files", "3 bytes", "17 bytes")
    assert gone.found == "no such file"


def test_of_many_files_that_are_gone_only_some_are_named(food: Path):
    about = json.loads((food / "manifest.json").read_text("utf-8"))
    split = about["splits"]["test"]
    split["files"] = [
        {**split["files"][0], "name": f"test/{n}.parquet", "rows": 0, "row_groups": []}
        for n in range(30)
    ]
    split |= {"rows": 0, "counts": [0, 0, 0]}
    (food / "manifest.json").write_text(json.dumps(about), "utf-8")

    found = problems_in_files(read(food))

    assert len(found) == 11
    assert found[-1].found == "20 more files that differ"


def test_a_hash_tells_a_changed_byte_that_a_size_does_not(food: Path):
    file = food / "train" / "part-00000.parquet"
    file.write_bytes(file.read_bytes().replace(b"rows", b"Rows"))
    told: list[tuple[int, int]] = []
    found = read(food)

    assert problems_in_files(found) == []
    (wrong,) = problems_in_hashes(
        found, nothing_is_started, lambda done, total: told.append((done, total))
    )

    assert wrong.path.endswith("train/part-00000.parquet")
    assert told == [(17, 33), (33, 33)]


@pytest.mark.processes
def test_a_folder_of_parquet_without_a_manifest_is_read_from_the_files(tmp_path: Path):
    content = [picture(n) for n in range(6)]
    parquet(tmp_path / "a.parquet", {"label": [0, 2, 2, 0, 2, 0], "content": content})
    parquet(tmp_path / "sub" / "b.parquet", {"label": [2], "content": content[:1], "more": [1.5]})
    parquet(tmp_path / "_hidden.parquet", {"x": [1]})

    found = read_place(str(tmp_path), own_python)

    (split,) = found.splits
    assert (found.has_manifest, found.classes) == (False, ("0", "1", "2"))
    assert (split.rows, split.counts, split.row_groups) == (7, (3, 0, 4), (4, 2, 1))


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"image": [b"x"], "label": [1]}, "data-columns"),
        ({"content": ["text"], "label": [1]}, "data-columns"),
        ({"content": [b"x"], "label": ["cat"]}, "data-columns"),
        ({"content": [b"x"], "label": [-1]}, "data-columns"),
        ({"content": [b"x"], "label": [1]}, "data-files"),
    ],
)
def test_a_parquet_file_of_something_else_is_refused(columns, rule, tmp_path: Path):
    file = parquet(tmp_path / "a.parquet", columns)
    if rule == "data-files":
        file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(RefusedError) as caught:
        reading_program.rows(str(tmp_path), ["a.parquet"])
    assert caught.value.rule == rule


@pytest.mark.processes
def test_an_address_is_read_by_pyarrows_file_systems(food: Path):
    found = read_place(f"file://{food}", own_python)

    assert found.splits == read(food).splits
    assert problems_in_files(found) == []
    assert problems_in_hashes(found, own_python, lambda done, total: None) == []
    with refused("data-place"):
        read_place("file:///nonexistent/place", own_python)
