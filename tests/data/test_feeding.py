"""Ranks that are fed from a split, by numbers alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from launchers.data.feeding import feeding


@pytest.mark.parametrize(
    ("rows", "ranks", "batch", "expected"),
    [
        (128, 2, 64, (64, 1, 64, 0)),
        (130, 2, 64, (65, 2, 1, 0)),
        (131, 2, 64, (65, 2, 1, 1)),
        (7, 8, 64, (0, 0, 0, 7)),
        (0, 1, 64, (0, 0, 0, 0)),
    ],
)
def test_every_rank_has_as_many_rows_and_steps(rows, ranks, batch, expected):
    one = feeding(rows, 1, ranks, batch)
    assert (one.rows, one.steps, one.last_batch, one.left_over) == expected
    assert one.starves == (one.rows == 0)


@given(rows=some.integers(0, 10**6), ranks=some.integers(1, 512), batch=some.integers(1, 512))
def test_no_row_is_lost_or_read_twice(rows: int, ranks: int, batch: int):
    one = feeding(rows, 1, ranks, batch)
    assert one.ranks * one.rows + one.left_over == rows
    assert 0 <= one.left_over < ranks
    assert (rows + one.repeated) % ranks == 0
    assert one.last_batch <= batch
    assert max(one.steps - 1, 0) * batch + one.last_batch == one.rows


def test_it_is_the_loaders_own_division():
    Division = pytest.importorskip("lib.data.division").Division  # noqa: N806

    for rows in (0, 1, 63, 64, 1000, 1001):
        for ranks in (1, 2, 3, 8):
            one, theirs = feeding(rows, 1, ranks, 64), Division(ranks=ranks, batch_size=64)
            assert {theirs.rank_steps(rows, rank) for rank in range(ranks)} == {one.steps}
            assert {theirs.share_rows(rows, rank)[1] for rank in range(ranks)} == {one.rows}


def test_ranks_share_row_groups_where_there_are_fewer():
    assert feeding(100, 3, 4, 10).shares_groups
    assert not feeding(100, 4, 4, 10).shares_groups
