import math

import pytest

from launchers.core.times import iso_time


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (1764547200.25, "2025-12-01T00:00:00.250Z"),
        (None, None),
        (1e300, None),
        (math.nan, None),
    ],
)
def test_a_moment_is_utc_to_the_millisecond_and_none_where_there_is_none(
    seconds: float | None, expected: str | None
):
    assert iso_time(seconds) == expected
