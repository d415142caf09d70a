"""The script's arguments in a study: comparisons, seeds, shares of a batch."""

from __future__ import annotations

import pytest

from launchers.scaling import arguments


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a", "--seed", "3"], ("a", "--seed", "9")),
        (["--seed=3", "b"], ("--seed=9", "b")),
        (["--seed", "1", "--seed=2"], ("--seed", "9", "--seed=9")),
        (["b"], ("b", "--seed", "9")),
    ],
)
def test_a_value_is_set_where_it_stood_else_at_the_end(words: list[str], expected: tuple[str, ...]):
    assert arguments.with_value(words, "seed", "9") == expected


@pytest.mark.parametrize(
    ("words", "name", "expected"),
    [(["--k=1"], "k", True), (["-k", "1"], "k", True), (["-k"], "lr", False), ([], "k", False)],
)
def test_an_argument_is_there_as_it_may_be_written(words: list[str], name: str, expected: bool):
    assert arguments.has(words, name) is expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("sync", "average:4", ("x", "--sync", "average:4")),
        ("augment", "true", ("x", "--augment")),
        ("augment", "false", ("x",)),
        ("k", "2", ("x", "-k", "2")),
    ],
)
def test_a_compared_argument_is_written_as_launch_yaml_has_it(
    name: str, value: str, expected: tuple[str, ...]
):
    assert arguments.compared(["x"], name, value) == expected


@pytest.mark.parametrize(
    ("words", "sizes", "rule", "found"),
    [
        ([], [1, 2], "scaling-batch", "no --batch-size"),
        (["--batch-size", "x"], [1], "scaling-batch", "--batch-size x"),
        (["--batch-size", "0"], [1], "scaling-batch", "--batch-size 0"),
        (["--batch-size", "-8"], [1], "scaling-batch", "--batch-size -8"),
        (["--batch-size", "9" * 5000], [1], "scaling-batch", "--batch-size 999"),
        (["--batch-size", "2"], [1, 4], "scaling-batch-divides", "world size of 4"),
        (["--batch-size", "64"], [1, 3, 2, 6], "scaling-batch-divides", "world size of 3, 6"),
    ],
)
def test_a_total_batch_that_cannot_be_shared_is_refused(
    words: list[str], sizes: list[int], rule: str, found: str
):
    (problem,) = arguments.batch_problems(words, "batch-size", sizes)

    assert problem.rule == rule
    assert found in problem.found


def test_each_rank_gets_its_share_of_the_total_batch():
    words = ["--batch-size=64", "--epochs", "3"]

    assert arguments.batch_problems(words, "batch-size", [1, 2, 4]) == []
    assert arguments.rank_batch(words, "batch-size", 4) == ("--batch-size=16", "--epochs", "3")
