"""Values of flags and launch.yaml: what each kind takes, and what it gives."""

from __future__ import annotations

import pytest

from launchers.core.spec.value_types import (
    Choice,
    Count,
    Duration,
    Size,
    Switch,
    Text,
    ValueType,
    format_duration,
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Count(1, 8), "4", 4),
        (Count(1, 8), 4, 4),
        (Count(0, 8), "0", 0),
        (Duration(), "90s", 90),
        (Duration(), "30m", 1800),
        (Duration(), "2h", 7200),
        (Duration(), "1h30m", 5400),
        (Duration(), "1.5h", 5400),
        (Duration(), "5d", 432000),
        (Size(), "500", 500),
        (Size(), 500, 500),
        (Size(), "500GB", 500),
        (Size(), "2TB", 2048),
        (Size(), "30 GiB", 30),
        (Switch(), True, True),
        (Choice(("guard", "script")), "script", "script"),
        (Text(r"[a-z]+"), "abc", "abc"),
    ],
)
def test_a_kind_gives_the_value_that_its_text_stands_for(
    kind: ValueType, text: object, value: object
):
    assert kind.parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Count(1, 8), "0"),
        (Count(1, 8), "9"),
        (Count(1, 8), "2.0"),
        (Count(1, 8), "two"),
        (Count(1, 8), True),
        (Count(1, 8), ""),
        (Count(1, 8), "9" * 40),
        (Duration(), "90"),
        (Duration(), 90),
        (Duration(), "2 hours"),
        (Duration(), "-2h"),
        (Duration(), "0s"),
        (Duration(), "0.5s"),
        (Duration(), ""),
        (Size(), "500MB"),
        (Size(), "0"),
        (Size(), True),
        (Size(), "-5"),
        (Switch(), "true"),
        (Switch(), 1),
        (Choice(("guard",)), "Guard"),
        (Text(), ""),
        (Text(r"[a-z]+"), "ABC"),
    ],
)
def test_a_kind_refuses_everything_else(kind: ValueType, text: object):
    with pytest.raises(ValueError):  # noqa: PT011 - the caller adds place and expectation
        kind.parse(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59, "59s"), (60, "1m"), (5400, "1h30m"), (86400, "1d"), (90061, "1d1h1m1s")],
)
def test_a_duration_is_shown_in_its_largest_units(seconds: int, text: str):
    assert format_duration(seconds) == text


@pytest.mark.parametrize("seconds", [1, 61, 5400, 86399, 1209600])
def test_what_a_duration_shows_is_what_it_reads(seconds: int):
    assert Duration().parse(format_duration(seconds)) == seconds
