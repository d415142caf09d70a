"""What a place holds, and everything that is no place."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from launchers.data import reading_program, sheet_program
from launchers.data.catalogue import RULES
from launchers.data.place import Place, chosen_splits, read_place
from launchers.data.place_problems import problems_in_files, problems_in_hashes, problems_in_rows
from launchers.data.reading_program import MOST_CLASSES, RefusedError
from tests.data.made import parquet, picture, place
from tests.refusals import refused
from tests.rights import open_folder, without_rights


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


def test_a_file_without_rights_is_told_so_and_not_as_another_one():
    with open_folder() as folder:
        food = place(folder / "food", {"train": [4, 4], "test": [2]})
        found = read(food)
        with without_rights(food / "train"):
            problems = problems_in_hashes(found, own_python, lambda done, total: None)
    name = found.splits[0].files[0].name
    assert [(one.path, one.found) for one in problems] == [(f"{food}/{name}", "may not be read")]


@pytest.mark.processes
def test_a_folder_of_parquet_without_a_manifest_is_read_from_the_files(tmp_path: Path):
    content = [picture(n) for n in range(6)]
    parquet(tmp_path / "a.parquet", {"label": [0, 2, 2, 0, 2, 0], "content": content})
    parquet(tmp_path / "sub" / "b.parquet", {"label": [2], "content": content[:1], "more": [1.5]})
    parquet(tmp_path / "_hidden.parquet", {"x": [1]})

    found = read_place(str(tmp_path), own_python)

    (split,) = found.splits
    assert (found.has_manifest, found.classes, found.labels) == (False, ("0", "2"), (0, 2))
    assert (split.rows, split.counts, split.row_groups) == (7, (3, 4), (4, 2, 1))
    assert problems_in_rows(found) == []


def test_without_a_manifest_splits_are_the_folders_that_training_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked(monkeypatch)
    parquet(tmp_path / "train" / "a.parquet", {"label": [0, 2, 2], "content": [b"x"] * 3})
    parquet(tmp_path / "test" / "B.PARQUET", {"label": [1], "content": [b"x"]})
    parquet(tmp_path / "elsewhere.parquet", {"label": [9], "content": [b"x"]})

    found = read_place(str(tmp_path), own_python)

    assert found.classes == ("0", "1", "2")
    assert [(one.name, one.rows, one.counts) for one in found.splits] == [
        ("train", 3, (1, 0, 2)),
        ("test", 1, (0, 1, 0)),
    ]
    (warning,) = problems_in_rows(found)
    assert warning.rule == "data-beside"
    assert warning.found == "1 Parquet file in none of its splits: elsewhere.parquet"
    assert [one.name for one in read_place(str(tmp_path / "test"), own_python).splits] == [""]


def test_a_folder_that_is_named_as_a_partition_changes_no_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked(monkeypatch)
    for label in (0, 1):
        columns = {"label": [label] * 2, "content": [b"x"] * 2}
        parquet(tmp_path / f"label={label}" / "a.parquet", columns)
    (split,) = read_place(str(tmp_path), own_python).splits
    assert split.counts == (2, 2)


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"image": [b"x"], "label": [1]}, "data-columns"),
        ({"content": ["text"], "label": [1]}, "data-columns"),
        ({"content": [b"x"], "label": ["cat"]}, "data-columns"),
        ({"content": [b"x"], "label": [-1]}, "data-columns"),
        ({"content": [b"x"], "label": [MOST_CLASSES]}, "data-columns"),
        ({"content": [b"x", b"y"], "label": [1, None]}, "data-columns"),
        ({"content": [b"x", None], "label": [1, 1]}, "data-columns"),
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


def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program's answers without starting it."""

    def ask(python: str, task: str, place: str, **about: Any) -> dict[str, Any]:
        return json.loads(json.dumps(getattr(reading_program, task)(place, **about)))

    monkeypatch.setattr("launchers.data.place.ask", ask)


@pytest.mark.parametrize("highest", [3000, MOST_CLASSES - 1])
def test_only_labels_that_occur_are_classes_and_more_classes_than_rows_are_told(
    highest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked(monkeypatch)
    parquet(tmp_path / "a.parquet", {"label": [0, highest, highest], "content": [b"x"] * 3})

    found = read_place(str(tmp_path), own_python)

    assert (found.labels, found.splits[0].counts) == ((0, highest), (1, 2))
    (warning,) = problems_in_rows(found)
    assert (warning.rule, warning.severity) == ("data-labels", "warning")
    assert f"label {highest} in 3 rows" in warning.found


@pytest.mark.parametrize("label", [MOST_CLASSES, 10**12])
def test_a_label_that_numbers_no_class_is_refused_as_training_does(label: int, tmp_path: Path):
    from entrypoints.lib.data import parquet_files
    from entrypoints.lib.errors import TrainingError

    file = parquet(tmp_path / "a.parquet", {"label": [0, label], "content": [b"x", b"y"]})
    with pytest.raises(RefusedError, match=f"label {label}") as caught:
        reading_program.rows(str(tmp_path), ["a.parquet"])
    assert caught.value.expected == (
        "labels that are numbered from 0 on, at most 1,000,000 classes"
    )
    filesystem, _ = parquet_files.filesystem_of(str(tmp_path))
    opened = parquet_files.open_file(filesystem, str(file))
    with pytest.raises(TrainingError, match=f"label {label}; expected labels that are numbered"):
        parquet_files.footer(filesystem, str(file), opened.metadata)


@pytest.mark.parametrize("statistics", [True, False, ["label"]])
def test_rows_without_a_picture_are_told_with_and_without_statistics(
    statistics: bool | list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    columns = {"label": [0] * 6, "content": [b"x", None, b"y", b"z", None, b"x"], "more": [1] * 6}
    parquet(tmp_path / "a.parquet", columns, write_statistics=statistics)
    with pytest.raises(RefusedError, match="1 row without content") as caught:
        reading_program.rows(str(tmp_path), ["a.parquet"])
    assert (caught.value.rule, caught.value.place) == ("data-columns", "a.parquet")
    assert caught.value.expected == "a label and a picture in each row"


def test_pictures_that_are_many_are_only_read_for_nulls_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked(monkeypatch)
    monkeypatch.setattr(reading_program, "_MOST_READ", 1)
    columns = {"label": [0, 1] * 3, "content": [b"x"] * 6}
    file = parquet(tmp_path / "a.parquet", columns, write_statistics=False)

    (warning,) = problems_in_rows(read_place(str(tmp_path), own_python))
    assert (warning.rule, warning.found) == ("data-unread", "no statistics in 2 row groups")
    assert problems_in_rows(read_place(str(tmp_path), own_python, whole=True)) == []

    parquet(file, columns | {"content": [b"x"] * 5 + [None]}, write_statistics=False)
    with pytest.raises(RefusedError, match="1 row without content"):
        read_place(str(tmp_path), own_python, whole=True)


@pytest.mark.processes
def test_what_is_wrong_with_a_file_is_told_with_what_was_expected(tmp_path: Path):
    (tmp_path / "b.parquet").touch()
    with refused("data-files", match=re.escape(f"{tmp_path}/b.parquet: ")):
        read_place(str(tmp_path), own_python)
    with refused("data-files", match="0 bytes; expected a complete Parquet file"):
        read_place(str(tmp_path), own_python)


def test_what_a_program_refuses_has_an_expectation_in_the_catalogue():
    text = "".join(
        Path(str(module.__file__)).read_text("utf-8") for module in (reading_program, sheet_program)
    )
    named = {*re.findall(r'RefusedError\(\s*"([a-z-]+)"', text)}
    assert "data-files" in named
    assert [rule for rule in named if not RULES[rule].expected] == []


@pytest.mark.processes
def test_an_address_is_read_by_pyarrows_file_systems(food: Path):
    found = read_place(f"file://{food}", own_python)

    assert found.splits == read(food).splits
    assert problems_in_files(found) == []
    assert problems_in_hashes(found, own_python, lambda done, total: None) == []
    with refused("data-place"):
        read_place("file:///nonexistent/place", own_python)
