"""A difference is claimed where at least three runs a group lie apart, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest

from launchers.scaling.report.comparing import Certainty, difference, ratio
from launchers.scaling.results import Spread

CASES = [
    ("three lie apart", [3.0, 3.1, 3.2], [1.0, 1.1, 1.2], Certainty.CLEAR, True),
    ("three lie apart below", [1.0, 1.1, 1.2], [3.0, 3.1, 3.2], Certainty.CLEAR, False),
    ("each pair says so and yet the ranges overlap", [1.1, 2.1, 3.1], [1.0, 2.0, 3.0],
     Certainty.NOISE, True),
    ("ranges that touch overlap", [2.0, 2.1, 2.2], [1.8, 1.9, 2.0], Certainty.NOISE, True),
    ("equal runs", [1.0, 1.0, 1.0], [1.0, 1.0, 1.0], Certainty.NOISE, False),
    ("two lie apart", [3.0, 3.1], [1.0, 1.1], Certainty.FEW, True),
    ("two overlap", [1.0, 1.3], [1.1, 1.2], Certainty.NOISE, True),
    ("one, however far", [9.0], [1.0], Certainty.SINGLE, True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mine", "other", "certainty", "more"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
@pytest.mark.parametrize("kind", [ratio, difference])
def test_how_much_runs_bear(kind, mine, other, certainty, more):
    found = kind(list(zip(mine, other, strict=True)))
    assert found is not None
    assert found.certainty is certainty
    if certainty in (Certainty.CLEAR, Certainty.FEW):
        assert found.more is more
    assert found.clearly_more is (certainty is Certainty.CLEAR and more)
    assert found.clearly_less is (certainty is Certainty.CLEAR and not more)


def test_no_pair_is_no_comparison():
    assert ratio([]) is None
    assert difference([]) is None


def test_how_much_comes_from_the_pairs():
    found = ratio([(2.0, 1.0), (6.0, 2.0), (8.0, 1.0)])
    assert found is not None
    assert found.by == Spread(3.0, 2.0, 8.0, 3)


@pytest.mark.parametrize(("count", "of"), [(2, 3), (3, 10), (4, 35), (5, 126)])
def test_alike_groups_lie_apart_as_often_as_is_said(count, of):
    """Counted: in how many of all ways to divide equal runs the two groups lie apart."""
    found = [difference(list(zip(*groups, strict=True))) for groups in _divided(count)]
    apart = [one for one in found if one and one.certainty is not Certainty.NOISE]
    assert len(apart) * of == len(found)


def _divided(count: int) -> Iterator[tuple[list[float], list[float]]]:
    whole = [float(one) for one in range(2 * count)]
    for half in combinations(whole, count):
        yield list(half), [one for one in whole if one not in half]
