"""The points of a study, and the values of its flags."""

from __future__ import annotations

import pytest

from launchers.scaling.grid import Compared, Counts, Grid, Point, interleaved


@pytest.mark.parametrize(
    ("text", "expected"), [("1", (1,)), ("1,2,4", (1, 2, 4)), ("4,1", (4, 1)), ("08,2", (8, 2))]
)
def test_counts_are_numbers_with_commas_between(text: str, expected: tuple[int, ...]):
    assert Counts(1, 512).parse(text) == expected


@pytest.mark.parametrize(
    "text", ["", ",", "1,", "1,1", "0", "1,513", "1.5", "a", "-1", "1, 2", "²"]
)
def test_counts_that_are_none_are_refused(text: str):
    with pytest.raises(ValueError, match=r"^$"):
        Counts(1, 512).parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lr-scaling=none,linear", ("lr-scaling", ("none", "linear"))),
        ("--strategy=horovod,torch", ("strategy", ("horovod", "torch"))),
        ("sync=allreduce,average:epoch", ("sync", ("allreduce", "average:epoch"))),
        ("env=A=1,A=2", ("env", ("A=1", "A=2"))),
    ],
)
def test_a_comparison_is_a_name_and_its_values(text: str, expected: object):
    assert Compared().parse(text) == expected


@pytest.mark.parametrize("text", ["", "lr", "lr=", "lr=1", "lr=1,", "lr=1,1", "=1,2", "l r=1,2"])
def test_a_comparison_that_compares_nothing_is_refused(text: str):
    with pytest.raises(ValueError, match=r"^$"):
        Compared().parse(text)


def test_points_are_the_product_variant_by_variant_from_small_to_large():
    grid = Grid(processes=(2, 1), instances=(1, 2), compared=(("lr", ("a", "b")),), repeat=3)

    assert grid.count == 24
    assert grid.points == [
        Point(instances, processes, None, (("lr", value),))
        for value in ("a", "b")
        for instances in (1, 2)
        for processes in (1, 2)
    ]


def test_what_is_not_varied_is_left_to_the_launcher():
    assert Grid(gpus=(0, 4)).points == [Point(gpus=0), Point(gpus=4)]


def test_every_point_runs_once_a_repeat_and_every_second_repeat_in_reverse():
    assert interleaved("ab", 3) == [("a", 1), ("b", 1), ("b", 2), ("a", 2), ("a", 3), ("b", 3)]
