from __future__ import annotations

import pytest

from entrypoints.lib.schedules import WarmUp, scaled


@pytest.mark.parametrize(
    ("scaling", "world_size", "expected"),
    [
        ("none", 8, 0.1),
        ("linear", 8, 0.8),
        ("sqrt", 16, 0.4),
        ("linear", 1, 0.1),
        ("sqrt", 1, 0.1),
    ],
)
def test_the_rate_is_scaled_as_asked(scaling: str, world_size: int, expected: float) -> None:
    assert scaled(0.1, scaling, world_size) == pytest.approx(expected)


def test_warm_up_rises_in_equal_steps_from_the_first_rate_to_the_scaled_one_and_stays() -> None:
    warm_up = WarmUp(start=0.1, target=0.5, steps=4)
    rates = [warm_up.rate(step) for step in range(6)]
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.5])


def test_without_warm_up_the_first_step_has_the_scaled_rate() -> None:
    assert WarmUp(start=0.1, target=0.4, steps=0).rate(0) == 0.4
