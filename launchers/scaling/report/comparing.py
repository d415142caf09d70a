"""When two groups of runs differ, and when that may be noise.

Runs are paired by repeat, and so by seed; how large a difference is comes from the pairs. It is
clear where there are at least three pairs and the ranges of the two groups don't overlap (so that
each pair says the same). Groups of three that are alike lie apart like that in 1 of 10 studies,
groups of four in 1 of 35, of five in 1 of 126: 2 of all ways to divide the runs into two groups.
Groups of two do in 1 of 3, so they are called too few; one run tells nothing. Else it is noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from launchers.scaling.measures import spread
from launchers.scaling.results import Spread

ENOUGH = 3


class Certainty(Enum):
    """How much the runs bear."""

    CLEAR = "clear"
    NOISE = "within noise"
    FEW = "apart, but too few runs"
    SINGLE = "one run"


@dataclass(frozen=True)
class Comparison:
    """One group of runs beside another.

    Attributes:
        by: Of the pairs: ratios (above 0, 1 where equal) or differences (0 where equal).
        mine: Of the first group alone.
        other: Of the second.
        certainty: Whether ``by`` means something.
        more: Whether the first group has more, going by the median.
    """

    by: Spread
    mine: Spread
    other: Spread
    certainty: Certainty
    more: bool

    @property
    def clearly_more(self) -> bool:
        """Whether the runs bear that the first group has more."""
        return self.certainty is Certainty.CLEAR and self.more

    @property
    def clearly_less(self) -> bool:
        """Whether the runs bear that the first group has less."""
        return self.certainty is Certainty.CLEAR and not self.more


def ratio(both: Sequence[tuple[float, float]]) -> Comparison | None:
    """How many times more the first of each pair is; None without a pair.

    Args:
        both: Values above 0 of the two groups, paired.
    """
    return _compared(both, [mine / other for mine, other in both], 1.0)


def difference(both: Sequence[tuple[float, float]]) -> Comparison | None:
    """How much more the first of each pair is; None without a pair."""
    return _compared(both, [mine - other for mine, other in both], 0.0)


def _compared(
    both: Sequence[tuple[float, float]], by: Sequence[float], equal: float
) -> Comparison | None:
    spread_by = spread(by)
    mine, other = spread(mine for mine, _ in both), spread(other for _, other in both)
    if spread_by is None or mine is None or other is None:
        return None
    if len(both) == 1:
        certainty = Certainty.SINGLE
    elif mine.low <= other.high and other.low <= mine.high:
        certainty = Certainty.NOISE
    else:
        certainty = Certainty.CLEAR if len(both) >= ENOUGH else Certainty.FEW
    return Comparison(spread_by, mine, other, certainty, spread_by.median > equal)
