from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

import pytest

from entrypoints.lib.conversion import options, plan, splitting
from entrypoints.lib.conversion.listing import Listing
from entrypoints.lib.conversion.tasks import Picture, TaskRecord
from entrypoints.lib.data.layout import BadPicture


def listing(sizes: list[int]) -> Listing:
    pictures = [Picture(f"a/{number:05d}.jpg", size, 0) for number, size in enumerate(sizes)]
    return Listing(("a",), tuple(pictures), 0)


def planned(sizes: list[int], *argv: str) -> plan.Plan:
    given = options.parse(["/images", "/out", *argv], ArgumentParser)
    return plan.planned(given, listing(sizes))


def test_every_picture_is_in_one_task() -> None:
    tasks = planned([10] * 1000).tasks
    paths = [picture.path for task in tasks for picture in task.pictures]
    assert sorted(paths) == [f"a/{number:05d}.jpg" for number in range(1000)]
    assert paths != sorted(paths)
    assert [task.number for task in tasks] == list(range(len(tasks)))


@pytest.mark.parametrize(
    ("sizes", "file_size", "tasks"),
    [
        ([10] * 1000, "1GiB", 16),
        ([10] * 5, "1GiB", 5),
        ([1000] * 1000, "10000", 100),
        ([0] * 40, "1", 1),
    ],
)
def test_the_number_of_tasks_comes_from_the_sizes(
    sizes: list[int], file_size: str, tasks: int
) -> None:
    assert len(planned(sizes, "--file-size", file_size).tasks) == tasks


def test_tasks_hold_about_the_same_number_of_bytes() -> None:
    sizes = [1000 + 37 * number % 500 for number in range(2000)]
    found = [task.bytes for task in planned(sizes, "--file-size", "100000").tasks]
    assert max(found) - min(found) < 4000


def test_a_huge_picture_leaves_no_task_empty() -> None:
    tasks = planned([1] * 50 + [10**9] + [1] * 50).tasks
    assert all(task.pictures for task in tasks)
    assert sum(len(task.pictures) for task in tasks) == 101


def test_another_seed_is_another_order() -> None:
    assert planned([1] * 50).tasks[0].pictures != planned([1] * 50, "--seed", "1").tasks[0].pictures


def test_what_differs_between_two_plans_is_named() -> None:
    one = planned([1] * 50, "--size", "24").made
    other = planned([1] * 49 + [2], "--size", "32x16", "--split", "0.5,0.5").made
    assert plan.differences(one, other) == [
        "other pictures in IMAGES",
        "--size 32,16, there 24,24",
        "--split 0.5,0.5, there 1.0",
    ]
    assert plan.differences(one, {**one, "source": "elsewhere"}) == []


def test_equal_pictures_are_in_one_split_and_the_fractions_hold() -> None:
    fractions = (0.7, 0.2, 0.1)
    contents = [str(number).encode() for number in range(10_000)]
    splits = [splitting.split_of(content, fractions, 13) for content in contents]
    assert splits == [splitting.split_of(content, fractions, 13) for content in contents]
    for name, fraction in zip(("train", "validation", "test"), fractions, strict=True):
        assert abs(splits.count(name) / 10_000 - fraction) < 0.015
    assert splits != [splitting.split_of(content, fractions, 14) for content in contents]


def test_a_record_survives_its_text() -> None:
    record = TaskRecord(3, {}, (BadPicture("a/1.jpg", "empty"),), {"JPEG": 2}, 1)
    assert TaskRecord.from_text(record.as_text()) == record


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--split", "0.7,0.2"], "0.7,0.2 sums to 0.9, expected 1"),
        (["--split", "0.5,0.5,0,0"], "expected 1 to 3 numbers above 0"),
        (["--split", "x"], "expected 1 to 3 numbers above 0"),
        (["--size", "0x5"], "expected WIDTHxHEIGHT or one number"),
        (["--size", "20000"], "expected WIDTHxHEIGHT or one number"),
        (["--augment", "crop,spin"], "spin, expected some of crop,flip,rotate,zoom,color"),
        (["--copies", "2"], "add --augment crop,flip,rotate,zoom,color"),
        (["--file-size", "12 parsecs"], "expected a size: 128MiB, 64MB or bytes"),
        (["--quality", "101"], "expected a whole number from 1 to 100"),
        (["--quality", "10"], "no picture is written anew; expected --size, --format jpeg or --a"),
        (["--quality", "10", "--format", "keep"], "no picture is written anew"),
        (["--quality", "10", "--size", "9", "--format", "png"], "--format png stores no JPEG"),
        (["--fit", "crop"], "--fit: crop, but no picture is resized; expected --size beside it"),
        (["--fit", "pad", "--format", "jpeg"], "no picture is resized"),
        (["--seed", "-1"], "expected a whole number from 0"),
        (["--scheduler", "tcp://a:1"], "--scheduler: is for --engine dask, not process"),
        (["--engine", "dask", "--master", "local"], "--master: is for --engine spark, not dask"),
    ],
)
def test_an_impossible_option_is_answered_with_what_was_expected(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        options.parse(["/images", "/out", *argv], ArgumentParser)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv", [["--size", "9"], ["--format", "jpeg"], ["--augment", "flip"], ["--size", "9x8"]]
)
def test_a_quality_is_taken_where_pictures_are_written_anew(argv: list[str]) -> None:
    given: Any = options.parse(["in", "out", *argv, "--quality", "10"], ArgumentParser)
    assert (given.recipe.quality, given.recipe.fit) == (10, "crop")


def test_options_have_the_defaults_that_are_told() -> None:
    given: Any = options.parse(["in", "out", "--augment", "flip,crop"], ArgumentParser)
    assert (given.fractions, given.seed, given.engine) == ((1.0,), 0, "process")
    assert (given.recipe.copies, given.recipe.augment) == (1, ("crop", "flip"))
    assert (given.recipe.fit, given.recipe.quality) == ("crop", 90)
    assert (given.rows_per_group, given.file_size) == (256, 128 << 20)
