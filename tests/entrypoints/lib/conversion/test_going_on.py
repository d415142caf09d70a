"""A conversion that was disturbed, and what it finds in its place."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from entrypoints.lib.conversion.engines import NotGivenOutError
from entrypoints.lib.conversion.place import ConversionPlace
from entrypoints.lib.conversion.tasks import Task, TaskRecord
from entrypoints.lib.errors import TrainingError
from tests.entrypoints.lib.conversion import places
from tests.entrypoints.lib.pictures import samples


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return places.make_pictures(tmp_path / "images", 60)


def refuses(*about: Any) -> NoReturn:
    raise TrainingError("nobody there")


def no_locks(*about: Any) -> NoReturn:
    raise OSError(errno.ENOLCK, "No locks available")


def interrupted(images: Path, out: Path, *argv: str, after: int = 5) -> None:
    with pytest.raises(KeyboardInterrupt):
        places.convert(images, out, *argv, engine=places.Here(stop_after=after))


def test_a_start_after_an_interruption_goes_on_and_ends_with_the_same_files(
    images: Path, tmp_path: Path
) -> None:
    (images / "cat" / "bad.jpg").write_bytes(b"")
    places.convert(images, tmp_path / "undisturbed", *places.FULL)
    interrupted(images, tmp_path / "out", *places.FULL, after=9)
    assert not (tmp_path / "out" / "manifest.json").exists()
    said = places.convert(images, tmp_path / "out", *places.FULL)
    assert said.of("start")[0]["tasks_done"] == 9
    assert [event["path"] for event in said.of("bad")] == ["cat/bad.jpg"]
    assert places.files(tmp_path / "out") == places.files(tmp_path / "undisturbed")


def test_what_a_killed_process_had_begun_is_removed(images: Path, tmp_path: Path) -> None:
    interrupted(images, tmp_path / "out")
    (tmp_path / "out" / "_conversion" / "unfinished-1-abc").write_bytes(b"half")
    interrupted(images, tmp_path / "out", after=0)
    assert not (tmp_path / "out" / "_conversion" / "unfinished-1-abc").exists()


@pytest.mark.parametrize("damage", ["missing", "cut", "record"])
def test_a_task_whose_files_are_not_there_in_full_is_done_again(
    images: Path, tmp_path: Path, damage: str
) -> None:
    out = tmp_path / "out"
    places.convert(images, tmp_path / "undisturbed")
    interrupted(images, out)
    if damage == "missing":
        (out / "train" / "part-00001.parquet").unlink()
    elif damage == "cut":
        os.truncate(out / "train" / "part-00001.parquet", 100)
    else:
        os.truncate(out / "_conversion" / "tasks" / "00001.json", 10)
    assert places.convert(images, out).of("start")[0]["tasks_done"] == 4
    assert places.files(out) == places.files(tmp_path / "undisturbed")


def test_a_finished_conversion_is_not_done_again(images: Path, tmp_path: Path) -> None:
    places.convert(images, tmp_path / "out", *places.SPLIT)
    before = places.files(tmp_path / "out")
    (tmp_path / "out" / "_conversion").mkdir()  # killed while it cleared up
    said = places.convert(images, tmp_path / "out", *places.SPLIT)
    assert [event["event"] for event in said.events] == ["result"]
    assert (said.result["made"], said.result["rows"]) == (False, 60)
    assert places.files(tmp_path / "out") == before
    assert not (tmp_path / "out" / "_conversion").exists()


def test_pictures_that_moved_are_still_the_same(images: Path, tmp_path: Path) -> None:
    interrupted(images, tmp_path / "out")
    images.rename(tmp_path / "moved")
    assert places.convert(tmp_path / "moved", tmp_path / "out").result["made"]


def test_other_options_or_pictures_are_refused(images: Path, tmp_path: Path) -> None:
    interrupted(images, tmp_path / "out", "--seed", "1")
    with pytest.raises(
        TrainingError, match=r"was begun there \(--seed 2, there 1\); give the same"
    ):
        places.convert(images, tmp_path / "out", "--seed", "2")
    places.convert(images, tmp_path / "out", "--seed", "1")
    (images / "cat" / "new.jpg").write_bytes(samples.jpeg())
    with pytest.raises(TrainingError, match=r"was finished there \(other pictures in IMAGES\)"):
        places.convert(images, tmp_path / "out", "--seed", "1")


@pytest.mark.parametrize("engine", ["process", "dask"])
def test_a_conversion_whose_engine_did_not_start_gives_way(
    images: Path, tmp_path: Path, engine: str
) -> None:
    for split in ("0.8,0.2", "0.7,0.3"):
        with pytest.raises(TrainingError, match="nobody there"):
            places.convert(
                images, tmp_path / "out", "--engine", engine, "--split", split, engine=refuses
            )
        assert places.files(tmp_path / "out") == {}
    assert places.convert(images, tmp_path / "out").result["made"]


class Blind:
    """An engine whose workers don't see the pictures."""

    def run(self, tasks: Sequence[Task]) -> Iterator[TaskRecord]:
        raise NotGivenOutError("worker w: /images: not there")
        yield

    def close(self) -> None:
        """It has nothing."""


def test_a_conversion_whose_tasks_nobody_was_given_gives_way(images: Path, tmp_path: Path) -> None:
    for seed in ("1", "2"):
        with pytest.raises(TrainingError, match="not there"):
            places.convert(
                images,
                tmp_path / "out",
                *("--engine", "dask", "--seed", seed),
                engine=lambda *_: Blind(),
            )
        assert places.files(tmp_path / "out") == {}


def test_an_engine_that_does_not_start_takes_nothing_away(images: Path, tmp_path: Path) -> None:
    interrupted(images, tmp_path / "out")
    before = places.files(tmp_path / "out")
    with pytest.raises(TrainingError, match="nobody there"):
        places.convert(images, tmp_path / "out", engine=refuses)
    assert places.files(tmp_path / "out") == before


def test_a_killed_conversion_that_has_done_nothing_gives_way(images: Path, tmp_path: Path) -> None:
    interrupted(images, tmp_path / "out", "--seed", "1", after=0)
    assert (tmp_path / "out" / "_conversion" / "plan.json").exists()
    places.convert(images, tmp_path / "out", "--seed", "2")
    assert places.manifest(tmp_path / "out").made["seed"] == 2


@pytest.mark.parametrize("why", ["workers of a cluster", "a part without a record", "no lock"])
def test_a_conversion_that_may_have_done_something_does_not_give_way(
    why: str, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    cluster = ("--engine", "dask") if why == "workers of a cluster" else ()
    interrupted(images, out, *cluster, "--seed", "1", after=0)
    if why == "a part without a record":
        (out / "train").mkdir()
        (out / "train" / "part-00000.parquet").write_bytes(b"rows")
    elif why == "no lock":
        monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(TrainingError, match=r"was begun there \(--seed 2, there 1\)"):
        places.convert(images, out, "--seed", "2")
    assert places.convert(images, out, "--seed", "1").result["made"]


def test_a_folder_with_other_things_is_left_alone(images: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "lost+found").mkdir(parents=True)
    (tmp_path / "out" / ".hidden").touch()
    (tmp_path / "out" / "thesis.txt").touch()
    with pytest.raises(TrainingError, match=r"has thesis\.txt in it and no manifest\.json"):
        places.convert(images, tmp_path / "out")
    (tmp_path / "out" / "thesis.txt").unlink()
    assert places.convert(images, tmp_path / "out").result["made"]


@pytest.mark.parametrize("text", ["{}", "not json", '{"format": "launch-pictures", "version": 99}'])
def test_a_manifest_that_is_none_is_refused(images: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text(text)
    with pytest.raises(TrainingError, match=r"manifest\.json: .*take another folder"):
        places.convert(images, tmp_path / "out")


def test_a_second_conversion_at_once_is_refused(images: Path, tmp_path: Path) -> None:
    with ConversionPlace(str(tmp_path / "out")).held() as locked:
        assert locked
        with pytest.raises(TrainingError, match="another conversion is at work there"):
            places.convert(images, tmp_path / "out")
    assert places.convert(images, tmp_path / "out").result["made"]


def test_a_place_that_is_a_file_is_refused(images: Path, tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(TrainingError, match="out: File exists"):
        places.convert(images, tmp_path / "out")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB of its own; needs root, as CI is."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_one_line_and_what_is_done_stays(tmp_path: Path, small_disk: Path) -> None:
    images = tmp_path / "images" / "a"
    images.mkdir(parents=True)
    for number in range(30):
        (images / f"{number}.jpg").write_bytes(samples.jpeg(seed=number) + bytes(60_000))
    out = small_disk / "out"
    with pytest.raises(TrainingError, match=r"No space left on device; what is done is kept: make"):
        places.convert(tmp_path / "images", out, *places.SPLIT)
    left = places.files(out)
    assert not any("unfinished" in name for name in left)
    records = [name for name in left if name.startswith("_conversion/tasks/")]
    assert records
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    said = places.convert(tmp_path / "images", out, *places.SPLIT)
    assert said.of("start")[0]["tasks_done"] == len(records)
    places.convert(tmp_path / "images", tmp_path / "undisturbed", *places.SPLIT)
    assert places.files(out) == places.files(tmp_path / "undisturbed")
