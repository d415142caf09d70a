from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entrypoints.lib.data import dask_tasks, layout, parquet_files
from entrypoints.lib.data.division import Division
from entrypoints.lib.data.parquet_place import open_place
from entrypoints.lib.data.reader import PictureReader
from entrypoints.lib.errors import TrainingError
from launchers.data import reading_program
from launchers.data.reading_program import RefusedError

from .places_of_parquet import write_file, write_place


def write_foreign(path: Path, columns: dict[str, pa.Array], **options: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **options)


def labelled(*labels: int) -> dict[str, pa.Array]:
    return {
        "content": pa.array([b"x"] * len(labels), pa.binary()),
        "label": pa.array(labels, pa.int64()),
    }


def refusal(address: Path, split: str = "train") -> str:
    with pytest.raises(TrainingError) as refused:
        open_place(str(address), split)
    message = str(refused.value)
    assert "\n" not in message
    assert str(address) in message
    return message


def test_a_place_is_opened_by_its_root_and_by_a_split(tmp_path: Path) -> None:
    write_place(tmp_path / "place", [6, 5], group=4)
    root, split = open_place(str(tmp_path / "place")), open_place(f"{tmp_path}/place/train")
    assert root.classes == split.classes == ("class 0", "class 1")
    assert root.rows == split.rows == 11
    assert root.counts == (6, 5)
    assert root.group_rows.tolist() == [4, 2, 4, 1]
    assert (
        root.fingerprint() == split.fingerprint() == pickle.loads(pickle.dumps(root)).fingerprint()
    )
    found = list(root.contents_of(np.array([7, 1, 4, 0])))
    assert found == [(1, b"1"), (0, b"0"), (4, b"4"), (7, b"7")], "row group after row group"
    assert root.path_of(7).startswith("1/part-00001-1.jpg (")


def test_parquet_of_others_is_read_by_its_footers(tmp_path: Path) -> None:
    write_foreign(tmp_path / "a" / "one.parquet", labelled(0, 2, 1), row_group_size=2)
    write_foreign(tmp_path / "two.parquet", labelled(2), write_statistics=False)
    write_foreign(tmp_path / "_temporary" / "three.parquet", labelled(9))
    (tmp_path / "_SUCCESS").write_text("")
    pictures = open_place(str(tmp_path))
    assert pictures.classes == ("0", "1", "2")
    assert pictures.counts is None
    assert pictures.group_rows.tolist() == [2, 1, 1]
    assert list(pictures.contents_of(np.array([0]))) == [(0, b"x")]
    assert pictures.path_of(3) == f"{tmp_path}/two.parquet, row group 0, row 0"
    batches = PictureReader(pictures, Division(batch_size=9)).batches(epochs=1)
    assert sorted(next(batches).labels.tolist()) == [0, 1, 2, 2]


def test_file_names_may_end_in_capitals_or_short(tmp_path: Path) -> None:
    write_foreign(tmp_path / "ONE.PARQUET", labelled(0, 1))
    write_foreign(tmp_path / "two.parq", labelled(1))
    assert open_place(str(tmp_path)).rows == 3


def test_a_column_of_a_struct_is_not_taken_for_one_of_the_same_name(tmp_path: Path) -> None:
    inner = pa.array([{"label": 7, "content": b"none"}] * 3)
    write_foreign(tmp_path / "one.parquet", {"about": inner, **labelled(0, 1, 2)})
    pictures = open_place(str(tmp_path))
    assert pictures.classes == ("0", "1", "2")
    (batch,) = PictureReader(pictures, Division()).batches(epochs=1)
    assert set(batch.content) == {b"x"}


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays(
        [*labelled(0, 1).values(), pa.array([0, 1])], [*labelled(), "label"]
    )
    pq.write_table(twice, tmp_path / "one.parquet")
    assert "expected one label (integer) among them" in refusal(tmp_path)
    with pytest.raises(RefusedError, match="columns content binary, label int64, label int64"):
        reading_program.rows(str(tmp_path), ["one.parquet"])


def test_folders_by_the_names_of_splits_are_splits(tmp_path: Path) -> None:
    write_foreign(tmp_path / "train" / "one.parquet", labelled(0, 1))
    write_foreign(tmp_path / "test" / "one.parquet", labelled(0, 1, 1))
    assert [open_place(str(tmp_path), split).rows for split in ("train", "test")] == [2, 3]


def test_an_empty_folder_no_folder_and_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "holds no Parquet file" in refusal(tmp_path / "empty")
    assert "absent: no such folder; expected what" in refusal(tmp_path / "absent")
    (tmp_path / "file").write_text("")
    assert "is a file; expected a folder" in refusal(tmp_path / "file")
    write_foreign(tmp_path / "none" / "one.parquet", labelled())
    assert "hold no row" in refusal(tmp_path / "none")


def test_the_form_of_the_flag_is_no_place() -> None:
    with pytest.raises(TrainingError, match=r"expected the place alone: open_place\('food'\)"):
        open_place("parquet:food")
    with pytest.raises(TrainingError, match=r"expected the place alone: open_place\('s3://b/x'\)"):
        open_place("parquet:s3://b/x")


def test_of_a_relative_place_that_is_not_there_it_is_said_from_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TrainingError, match=rf"^food: no such folder, from {tmp_path}; expected"):
        open_place("food")


@pytest.mark.parametrize("labels", [(0, 0), (3, 3, 3)])
def test_one_class_is_refused(tmp_path: Path, labels: tuple[int, ...]) -> None:
    write_foreign(tmp_path / "one.parquet", labelled(*labels))
    assert f"of one class ({labels[0]})" in refusal(tmp_path)


def test_one_class_among_names_is_refused_where_it_is_trained_on(tmp_path: Path) -> None:
    file = write_file(tmp_path / "train" / "one.parquet", [1, 1], [b"a", b"b"], 4)
    split = layout.Split(2, 2, (0, 2), (file,))
    manifest = layout.Manifest(("cat", "dog"), {"train": split, "test": split})
    (tmp_path / layout.MANIFEST).write_text(layout.as_text(manifest))
    assert "of one class (dog)" in refusal(tmp_path)
    assert open_place(str(tmp_path), "test").rows == 2


@pytest.mark.parametrize(("labels", "found"), [((0, -1), "label -1"), ((0, 2**40), str(2**40))])
def test_labels_out_of_range_are_refused(
    tmp_path: Path, labels: tuple[int, ...], found: str
) -> None:
    write_foreign(tmp_path / "one.parquet", labelled(*labels))
    assert found in refusal(tmp_path)


@pytest.mark.parametrize("kept", [0, 3, 100, -1])
def test_a_file_cut_short_is_refused_with_and_without_a_manifest(tmp_path: Path, kept: int) -> None:
    write_place(tmp_path / "place", [6, 5])
    file = tmp_path / "place" / "train" / "part-00001.parquet"
    file.write_bytes(file.read_bytes()[:kept])
    assert "its manifest says" in refusal(tmp_path / "place")
    (tmp_path / "place" / layout.MANIFEST).unlink()
    assert "no whole Parquet file" in refusal(tmp_path / "place")


def test_a_manifest_that_disagrees_with_its_files_is_refused(tmp_path: Path) -> None:
    write_place(tmp_path, [6, 5])
    file = tmp_path / "train" / "part-00001.parquet"
    file.rename(tmp_path / "elsewhere")
    assert "part-00001.parquet: is not there" in refusal(tmp_path)
    manifest = tmp_path / layout.MANIFEST
    manifest.write_text(manifest.read_text()[:-50])
    assert "manifest.json: not a manifest" in refusal(tmp_path)


def test_a_split_that_is_not_there_is_said_with_those_that_are(tmp_path: Path) -> None:
    write_place(tmp_path, [6])
    assert "has no split test; it has train" in refusal(tmp_path, "test")
    assert "has no split test; it has train" in refusal(tmp_path / "test")


@pytest.mark.parametrize(
    "columns",
    [
        {"image": pa.array([b"x"]), "label": pa.array([1])},
        {"content": pa.array(["text"]), "label": pa.array([1])},
        {"content": pa.array([b"x"]), "label": pa.array(["cat"])},
    ],
)
def test_other_columns_are_refused_by_name(tmp_path: Path, columns: dict[str, pa.Array]) -> None:
    write_foreign(tmp_path / "one.parquet", columns)
    message = refusal(tmp_path)
    assert "its columns are" in message
    assert all(name in message for name in columns)


@pytest.mark.parametrize(
    ("name", "columns", "told"),
    [
        (
            "label=1/one.parquet",
            {"content": pa.array([b"x"])},
            "expected one label (integer) among them. Write it into the files, too",
        ),
        (
            "one.parquet",
            {**labelled(0), "label": pa.array(["cat"]).dictionary_encode()},
            "Number the classes from 0 on",
        ),
        (
            "one.parquet",
            {"image": pa.array([{"bytes": b"x", "path": "1.jpg"}]), "label": pa.array([0])},
            "Write the field bytes of image as content: pyarrow.compute.struct_field(table",
        ),
    ],
)
def test_columns_of_other_tools_are_refused_with_what_makes_ours_of_them(
    tmp_path: Path, name: str, columns: dict[str, pa.Array], told: str
) -> None:
    write_foreign(tmp_path / name, columns)
    assert told in refusal(tmp_path)


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("column", ["content", "label"])
def test_rows_without_a_label_or_a_picture_are_told_by_file_and_row_group(
    tmp_path: Path, column: str, statistics: bool
) -> None:
    columns = labelled(0, 1, 0, 1, 1)
    values = columns[column].to_pylist()
    columns[column] = pa.array([*values[:3], None, values[4]], columns[column].type)
    write_foreign(tmp_path / "one.parquet", columns, row_group_size=2, write_statistics=statistics)
    told = rf"one\.parquet: row group 1 has 1 rows without {column} \(null\).*'{column}'"
    with pytest.raises(TrainingError, match=told) as refused:
        list(PictureReader(open_place(str(tmp_path)), Division()).batches(epochs=1))
    assert "\n" not in str(refused.value)
    assert "copy it again" not in str(refused.value)
    with pytest.raises(TrainingError, match=told):
        dask_tasks.GROUPS.get(str(tmp_path), "one.parquet", 1)


def test_what_may_not_be_read_says_so() -> None:
    with (
        pytest.raises(TrainingError, match=r"s3://bucket/place: may not be read .* read access"),
        parquet_files.reading("s3://bucket/place"),
    ):
        raise PermissionError(13, "Access denied")


def test_a_folder_without_rights_says_so(tmp_path: Path) -> None:
    write_place(tmp_path / "place", [6])
    (tmp_path / "place").chmod(0)
    is_root = os.geteuid() == 0  # who may read everything
    if is_root:
        os.seteuid(65534)
    try:
        message = refusal(tmp_path / "place")
    finally:
        if is_root:
            os.seteuid(0)
        (tmp_path / "place").chmod(0o700)
    assert "may not be read" in message


def test_what_changes_after_it_was_opened_ends_the_reading(tmp_path: Path) -> None:
    pictures = open_place(str(write_place(tmp_path, [8, 8])))
    write_file(tmp_path / "train" / "part-00001.parquet", [1, 0, 1], [b"a", b"b", b"c"], 4)
    reader = PictureReader(pictures, Division(batch_size=2))
    with pytest.raises(TrainingError, match=r"part-00001.*has 1 row groups; expected at least 2"):
        list(reader.batches(epochs=1))
    write_file(tmp_path / "train" / "part-00001.parquet", [0, 1, 7, 1] * 2, [b"a"] * 8, 4)
    with pytest.raises(TrainingError, match=r"row 2: label 7; expected 0 to 1"):
        list(reader.batches(epochs=1))
