"""A place of Parquet as the training script reads it: in step over the ranks, tested exactly."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entrypoints.lib import arguments
from entrypoints.lib.data.dataset import Part
from entrypoints.lib.errors import TrainingError
from tests.entrypoints.lib.data.places_of_parquet import write_file
from tests.entrypoints.lib.pictures import samples
from tests.entrypoints.numbered_pictures import picture, write_parquet

pytestmark = pytest.mark.horovod


@pytest.fixture
def streamed(tensorflow: Any) -> Any:
    from entrypoints.lib.data import streamed

    return streamed


def opened(streamed: Any, place: Path, *flags: str) -> Any:
    settings = arguments.parse(["--data", f"parquet:{place}", *flags])
    return streamed.StreamedPictures(str(place), None, settings)


def part(rank: int, world_size: int, remainder: str, **more: Any) -> Part:
    return Part(rank, world_size, 4, 1, remainder, **more)


def numbers_of(pixels: Any) -> list[int]:
    first: list[int] = pixels.numpy()[:, 0, 0, 0].astype(int).tolist()
    return first


@pytest.mark.parametrize("remainder", ["pad", "uneven"])
def test_ranks_whose_shares_differ_by_a_step_take_as_many_steps(
    streamed: Any, tmp_path: Path, remainder: str
) -> None:
    """17 pictures on two ranks are 9 and 8: three steps of four, and two."""
    data = opened(streamed, write_parquet(tmp_path, 17, 6))
    courses = [data.course(part(rank, 2, remainder), None) for rank in range(2)]
    assert [(course.first_steps, course.steps) for course in courses] == [(3, 3), (3, 3)]
    ranks = [list(course.batches(2)) for course in courses]
    assert [len(steps) for steps in ranks] == [6, 6]
    for epoch in (slice(0, 3), slice(3, 6)):
        counted = Counter(
            number
            for steps in ranks
            for pixels, _, weights in steps[epoch]
            for number, weight in zip(numbers_of(pixels), weights.numpy(), strict=True)
            if weight > 0
        )
        assert counted == Counter(range(17))
    means = [np.mean([rank[step][2].numpy().mean() for rank in ranks]) for step in range(6)]
    assert means == pytest.approx([1.0] * 6)


def test_cut_epochs_go_on_where_the_last_one_stopped_and_so_does_a_second_run(
    streamed: Any, tmp_path: Path
) -> None:
    data = opened(streamed, write_parquet(tmp_path, 30, 6))

    def course(start: Any) -> Any:
        return data.course(part(0, 1, "drop", max_steps=2), start)

    def read(dataset: Any) -> list[list[int]]:
        return [numbers_of(pixels) for pixels, _ in dataset]

    whole = read(course(None).batches(4))
    assert len(whole) == 8
    assert len({number for step in whole[:7] for number in step}) == 28
    again = course(course(None).state(1, 1))
    assert (again.first_steps, again.steps) == (1, 2)
    assert read(again.batches(3)) == whole[3:]
    assert read(again.batches(2, first=1)) == whole[4:]


@pytest.mark.parametrize("world_size", [1, 2, 5, 7])
def test_every_test_picture_is_read_once_over_all_ranks(
    streamed: Any, tmp_path: Path, world_size: int
) -> None:
    data = opened(streamed, write_parquet(tmp_path, 9, 5))
    assert (data.shape, data.training_count, data.test_count) == ((12, 12, 3), 9, 5)
    read = [
        number
        for rank in range(world_size)
        for pixels, _ in data.test_batches(rank, world_size, 2)
        for number in numbers_of(pixels)
    ]
    assert sorted(read) == list(range(9, 14))


def test_a_split_folder_is_tested_on_the_one_beside_it(streamed: Any, tmp_path: Path) -> None:
    place = write_parquet(tmp_path, 9, 5)
    assert opened(streamed, place / "train").test_count == 5
    assert opened(streamed, place, "--image-size", "8x6").shape == (6, 8, 3)


def test_a_place_without_a_split_to_test_on_is_refused(streamed: Any, tmp_path: Path) -> None:
    place = write_parquet(tmp_path, 9, 5)
    shutil.rmtree(place / "test")
    with pytest.raises(TrainingError, match=r"has no split to test on \(test or validation\)"):
        opened(streamed, place)


def test_a_picture_that_pillow_alone_reads_is_told_with_what_converts_it(
    streamed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from entrypoints.lib.data import place_pictures
    from tests.entrypoints.lib.data.places_of_parquet import write_file

    place = write_parquet(tmp_path, 9, 5)
    content = [picture(number, number % 3) for number in range(8)]
    content[5] = b"RIFF\x24\0\0\0WEBPVP8 and more"
    write_file(place / "train" / "part-1.parquet", [n % 3 for n in range(8)], content, 3)
    told = r"part-1-5\.jpg .* decode WEBP: convert .* `launch data parquet --format jpeg`\.$"
    with pytest.raises(TrainingError, match=told):
        opened(streamed, place)
    monkeypatch.setattr(place_pictures, "LOOKED_AT", 1)
    data = opened(streamed, place, "--image-size", "12")
    course = data.course(part(0, 1, "drop"), None)
    with pytest.raises(TrainingError, match=told), data.explaining():
        list(course.batches(1))


def test_a_picture_that_is_none_is_named_before_training_or_when_it_is_met(
    streamed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from entrypoints.lib.data import place_pictures
    from tests.entrypoints.lib.data.places_of_parquet import write_file

    place = write_parquet(tmp_path, 9, 5)
    content = [picture(number, number % 3) for number in range(8)]
    content[5] = content[5][:50]
    write_file(place / "train" / "part-1.parquet", [n % 3 for n in range(8)], content, 3)
    with pytest.raises(
        TrainingError, match=r"2/part-1-5\.jpg .*no picture that can be decoded \([^{\[]+\)\. "
    ):
        opened(streamed, place)
    monkeypatch.setattr(place_pictures, "LOOKED_AT", 1)
    data = opened(streamed, place, "--image-size", "12")
    course = data.course(part(0, 1, "drop"), None)
    with pytest.raises(TrainingError, match=r"2/part-1-5\.jpg"), data.explaining():
        list(course.batches(1))


@pytest.mark.parametrize("remainder", ["drop", "uneven"])
def test_pillow_reads_the_same_pictures_in_the_same_order(
    streamed: Any, tmp_path: Path, remainder: str
) -> None:
    from entrypoints.lib.data.decoded_place import DecodedPlace

    place = write_parquet(tmp_path, 21, 6)
    settings = arguments.parse(["--data", f"parquet:{place}"])
    ours, theirs = DecodedPlace(str(place), None, settings), opened(streamed, place)
    assert (ours.shape, ours.fingerprint()) == (theirs.shape, theirs.fingerprint())
    here = part(1, 2, remainder)
    batches = [[each.numpy() for each in b] for b in theirs.course(here, None).batches(2)]
    for mine, other in zip(ours.course(here, None).arrays(2), batches, strict=True):
        assert [each.tolist() for each in mine[1:]] == [each.tolist() for each in other[1:]]
        assert np.abs(mine[0].astype(int) - other[0]).max() <= 2  # decoders round as they like
    labels = [batch[1].tolist() for batch in ours.test_arrays(1, 2, 2)]
    assert labels == [batch[1].numpy().tolist() for batch in theirs.test_batches(1, 2, 2)]


@pytest.mark.parametrize("flags", [(), ("--image-size", "16x24")])
def test_pictures_that_exif_data_turn_are_seen_upright_as_with_pillow(
    streamed: Any, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    from entrypoints.lib.data.decoded_place import DecodedPlace

    content = [samples.turned(*((24, 16) if row % 2 else (16, 24)), 1 + row % 2 * 5)
               for row in range(8)]  # fmt: skip
    for split in ("train", "test"):
        write_file(tmp_path / split / "one.parquet", [0, 0, 1, 1] * 2, content, 4)
    settings = arguments.parse(["--data", f"parquet:{tmp_path}", *flags])
    ours, theirs = DecodedPlace(str(tmp_path), None, settings), opened(streamed, tmp_path, *flags)
    assert ours.shape == theirs.shape == (24, 16, 3)
    for mine, other in zip(ours.test_arrays(0, 1, 8), theirs.test_arrays(0, 1, 8), strict=True):
        assert np.abs(mine[0].astype(int) - other[0]).mean() < 12
