from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entrypoints.lib.errors import TrainingError
from tests.entrypoints.lib.conversion import places
from tests.entrypoints.lib.pictures import samples


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return places.make_pictures(tmp_path / "images", 60)


def test_every_picture_is_stored_once_as_it_is(images: Path, tmp_path: Path) -> None:
    said = places.convert(images, tmp_path / "out")
    found = {row["path"]: row for row in places.rows(tmp_path / "out", "train")}
    assert len(found) == 60
    for path, row in found.items():
        assert row["content"] == (images / path).read_bytes()
        assert row["label"] == ("cat", "dog").index(path.split("/")[0])
    manifest = places.manifest(tmp_path / "out")
    assert (manifest.classes, manifest.splits["train"].counts) == (("cat", "dog"), (30, 30))
    assert (said.result["pictures"], said.result["rows"], said.result["made"]) == (60, 60, True)


def test_the_columns_are_what_the_loaders_read(images: Path, tmp_path: Path) -> None:
    places.convert(images, tmp_path / "out", "--rows-per-group", "2")
    file = pq.ParquetFile(tmp_path / "out" / "train" / "part-00000.parquet")
    assert file.schema_arrow == pa.schema(
        [
            pa.field("label", pa.int64(), False),
            pa.field("content", pa.binary(), False),
            pa.field("path", pa.string()),
        ]
    )
    assert file.metadata.row_group(0).num_rows == 2
    file.read().validate(full=True)


def test_no_picture_is_in_two_splits_and_copies_stay_with_their_original(
    images: Path, tmp_path: Path
) -> None:
    for number in range(6):  # the same picture, in other classes and under other names
        shutil.copy(images / "cat" / "0000.jpg", images / "dog" / f"again-{number}.jpg")
    out = tmp_path / "out"
    places.convert(images, out, *places.SPLIT, "--augment", "flip,color", "--copies", "2")
    where: dict[str, set[str]] = {}
    for split in places.manifest(out).splits:
        for row in places.rows(out, split):
            original = row["path"].split("#")[0]
            where.setdefault((images / original).read_bytes().hex(), set()).add(split)
    assert len(where) == 60
    assert all(len(splits) == 1 for splits in where.values())
    assert sum(split.rows for split in places.manifest(out).splits.values()) == 3 * 66


def test_the_same_seed_gives_the_same_bytes(images: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        places.convert(images, tmp_path / name, *places.FULL)
    assert places.files(tmp_path / "one") == places.files(tmp_path / "two")
    places.convert(images, tmp_path / "three", *places.FULL, "--seed", "14")
    assert places.files(tmp_path / "three") != places.files(tmp_path / "one")


def test_bad_pictures_are_listed_and_left_out(images: Path, tmp_path: Path) -> None:
    (images / "cat" / "empty.jpg").write_bytes(b"")
    (images / "cat" / "text.jpg").write_text("no picture")
    (images / "dog" / "cut.jpg").write_bytes(samples.jpeg(200, 200)[:900])
    (images / "dog" / "gone.jpg").symlink_to(tmp_path / "gone.jpg")
    (images / "dog" / "really-a.jpg").write_bytes(samples.encoded(samples.image(), "PNG"))
    said = places.convert(images, tmp_path / "out")
    manifest = places.manifest(tmp_path / "out")
    assert [(bad.path, bad.reason.split(":")[0]) for bad in manifest.bad] == [
        ("cat/empty.jpg", "an empty file"),
        ("cat/text.jpg", "no picture that Pillow knows"),
        ("dog/cut.jpg", "cannot be decoded"),
        ("dog/gone.jpg", "cannot be read"),
    ]
    assert {event["path"] for event in said.of("bad")} == {bad.path for bad in manifest.bad}
    assert manifest.splits["train"].rows == 61
    assert (said.result["pictures"], said.result["bad"]) == (65, 4)


def test_a_link_that_leads_to_itself_is_a_bad_picture(images: Path, tmp_path: Path) -> None:
    (images / "cat" / "round.jpg").symlink_to("round.jpg")
    places.convert(images, tmp_path / "out")
    (bad,) = places.manifest(tmp_path / "out").bad
    assert bad.path == "cat/round.jpg"
    assert bad.reason.startswith("cannot be read: ")


def test_a_bad_picture_can_end_the_conversion_which_goes_on_when_it_is_mended(
    images: Path, tmp_path: Path
) -> None:
    whole = (images / "cat" / "0020.jpg").read_bytes()
    places.convert(images, tmp_path / "undisturbed", "--bad-images", "fail")
    (images / "cat" / "0020.jpg").write_bytes(bytes(len(whole)))
    with pytest.raises(TrainingError, match=r"cat/0020\.jpg: no picture .* --bad-images skip"):
        places.convert(images, tmp_path / "out", "--bad-images", "fail")
    (images / "cat" / "0020.jpg").write_bytes(whole)
    places.convert(images, tmp_path / "out", "--bad-images", "fail")
    assert places.files(tmp_path / "out") == places.files(tmp_path / "undisturbed")


def test_a_conversion_that_a_bad_picture_ended_goes_on_without_it(
    images: Path, tmp_path: Path
) -> None:
    (images / "cat" / "0020.jpg").write_bytes(b"no picture")
    with pytest.raises(TrainingError):
        places.convert(images, tmp_path / "out", "--bad-images", "fail")
    places.convert(images, tmp_path / "out")
    places.convert(images, tmp_path / "undisturbed")
    assert places.files(tmp_path / "out") == places.files(tmp_path / "undisturbed")
    with pytest.raises(TrainingError, match="--bad-images fail, there skip"):
        places.convert(images, tmp_path / "out", "--bad-images", "fail")


def test_pictures_that_are_all_bad_are_no_result(tmp_path: Path) -> None:
    (tmp_path / "images" / "a").mkdir(parents=True)
    (tmp_path / "images" / "a" / "1.jpg").write_bytes(b"x")
    with pytest.raises(TrainingError, match=r"none of 1 pictures is whole; the first, a/1\.jpg"):
        places.convert(tmp_path / "images", tmp_path / "out")
    assert places.files(tmp_path / "out") == {}


def test_decoding_finds_what_the_ends_do_not_show(images: Path, tmp_path: Path) -> None:
    content = bytearray(samples.encoded(samples.image(100, 100), "PNG"))
    content[len(content) // 2] ^= 0xFF
    (images / "cat" / "broken.png").write_bytes(bytes(content))
    places.convert(images, tmp_path / "quick")
    places.convert(images, tmp_path / "careful", "--check", "decode")
    assert places.manifest(tmp_path / "quick").bad == ()
    (bad,) = places.manifest(tmp_path / "careful").bad
    assert bad.path == "cat/broken.png"


def test_what_decoders_will_not_do_is_told_where_bytes_are_kept(
    images: Path, tmp_path: Path
) -> None:
    (images / "cat" / "turned.jpg").write_bytes(samples.turned(40, 20, 6))
    (images / "cat" / "web.webp").write_bytes(samples.encoded(samples.image(), "WEBP"))
    said = [event["message"] for event in places.convert(images, tmp_path / "kept").of("warning")]
    assert len(said) == 2
    assert said[0].startswith("1 WEBP stored as they are: TensorFlow can't decode")
    assert said[1].startswith("1 pictures are turned by their EXIF data")
    assert not places.convert(images, tmp_path / "anew", "--format", "jpeg").of("warning")


def test_a_name_that_is_no_text_is_stored_as_text(images: Path, tmp_path: Path) -> None:
    name = os.fsencode(images / "cat") + b"/\xff.jpg"
    with open(name, "wb") as file:
        file.write(samples.jpeg())
    places.convert(images, tmp_path / "out", *places.FULL)
    assert sum(split.rows for split in places.manifest(tmp_path / "out").splits.values()) == 122


def test_a_class_whose_name_is_no_text_has_one_in_the_manifest(
    images: Path, tmp_path: Path
) -> None:
    os.rename(images / "cat", os.fsencode(images / "cat") + b"\xff")
    out = tmp_path / "out"
    first = places.convert(images, out)
    assert "cat\ufffd" in places.manifest(out).classes
    text = (out / "manifest.json").read_text("utf-8")
    assert json.dumps(json.loads(text), ensure_ascii=False).encode()
    (warning,) = [event["message"] for event in first.of("warning")]
    assert warning == "no UTF-8 in the class names cat\ufffd, as the manifest has them"
    (again,) = places.convert(images, out).of("result")
    assert again["made"] is False


def test_large_pictures_make_shorter_row_groups(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from entrypoints.lib.conversion import writing

    monkeypatch.setattr(writing, "MOST_GROUP_BYTES", 1500)
    places.convert(images, tmp_path / "out")
    groups = places.manifest(tmp_path / "out").splits["train"].files[0].row_groups
    assert max(groups) <= 3


def test_a_link_to_the_source_is_seen_as_the_same_folder(images: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(images)
    for place in (images, images / "cat" / "out", tmp_path, tmp_path / "link" / "out"):
        with pytest.raises(TrainingError, match="take a folder beside it for OUT"):
            places.convert(images, place)
