"""One run's figures, and their spread over runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launchers.scaling import measures
from launchers.scaling.results import Epoch, Row, Run, Size, Spread


def epochs(*seconds: float | None) -> tuple[Epoch, ...]:
    return tuple(Epoch(number, second) for number, second in enumerate(seconds, 1))


def run_of(*seconds: float | None, repeat: int = 1) -> Run:
    return Run(Size(1, 1), repeat, 1, state="succeeded", epochs=epochs(*seconds))


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((30.0,), 30.0),
        ((), None),
        ((30.0, 40.0, 50.0), 10.0),
        ((30.0, 40.0, 52.0, 60.0), 10.0),
        ((None, 40.0, 50.0), 10.0),
        ((30.0, None, 50.0), None),
        ((None,), None),
        ((30.0, 5.0, 15.0), 10.0),
    ],
    ids=[
        "the only epoch counts", "no epoch", "the first is left out", "the median",
        "times begin late", "a gap", "no times", "a clock that began anew at a resumption",
    ],
)  # fmt: skip
def test_seconds_of_an_epoch(ends, expected):
    assert measures.epoch_seconds(run_of(*ends)) == expected


def test_the_time_between_two_epochs_is_shared_by_those_that_are_not_told():
    told = tuple(Epoch(number, 10.0 * number) for number in (5, 10, 15))
    run = Run(Size(1, 1), 1, 1, state="succeeded", epochs=told)

    assert measures.epoch_seconds(run) == 10.0
    assert measures.epoch_seconds(replace(run, epochs=told[:1])) is None


def rated(rate: float | None, *seconds: float) -> Run:
    return Run(
        Size(1, 1), 1, 1, state="succeeded",
        epochs=tuple(Epoch(n, s, rate) for n, s in enumerate(seconds, 1)),
    )  # fmt: skip


BASE = rated(100, 10, 20, 30)  # an epoch has 1,000 images


@pytest.mark.parametrize(
    ("run", "faster"),
    [
        (rated(200, 5, 10, 15), 2.0),
        (rated(190, 5, 10, 15), 2.0),
        (rated(300, 5, 10), 3.0),
        (run_of(5, 10), None),
        (rated(None, 5, 10, 15), 2.0),
        (rated(198, 10, 20, 30), 1.98),
        (rated(99, 5, 10, 15), 0.99),
    ],
    ids=[
        "the same images", "all but those that fill no batch", "other numbers of epochs",
        "nothing in common", "no images", "the same steps of more images", "half the images",
    ],
)  # fmt: skip
def test_an_epochs_time_is_compared_where_it_is_the_same_work_else_images(run, faster):
    assert measures.speed_ups([(run, BASE)]) == [faster]


@pytest.mark.parametrize(
    ("run", "base", "faster"),
    [
        (rated(3, 357, 714, 1071), rated(1, 714, 1428, 2142), 2.0),  # 1.4 and 2.8 images/s
        (rated(40000, 0.03, 0.05, 0.07), rated(24000, 0.05, 0.09, 0.13), 5 / 3),
        (rated(66000, 0.02, 0.04, 0.06), rated(30000, 0.05, 0.1, 0.15), 2.2),
        (rated(None, 0.02, 0.04, 0.06), rated(None, 0.05, 0.1, 0.15), 2.5),
    ],
    ids=["slow", "short", "hundredths are coarse", "and nothing else is known"],
)
def test_rounded_figures_make_no_other_work(run, base, faster):
    assert measures.speed_ups([(run, base)]) == [pytest.approx(faster)]
    assert measures.other_work([(run, base)]) is None


def test_all_pairs_are_compared_in_one_unit():
    alike, larger = rated(200, 5, 10, 15), rated(198, 10, 20, 30)
    of = [(larger, BASE), (larger, BASE), (alike, BASE)]

    assert measures.speed_ups(of) == [1.98, 1.98, 2.0]
    assert measures.other_work(of) == 1.98
    assert measures.speeds(of)[2] == (200, 100)
    assert measures.other_work([(alike, BASE)]) is None


def row(world: int, *runs: Run) -> Row:
    return Row(Size(1, world), world, runs)


def test_pairs_are_of_one_repeat_and_of_jobs_that_succeeded():
    base = row(1, run_of(10, 20, repeat=1), run_of(10, 20, repeat=2))
    failed = Run(Size(1, 2), 1, 2, state="failed", epochs=epochs(5, 10))
    larger = row(2, failed, run_of(5, 10, repeat=2), run_of(5, 10, repeat=3))
    assert [(one.repeat, other.repeat) for one, other in measures.pairs(larger, base)] == [(2, 2)]


def test_a_row_is_compared_with_the_smallest_size_of_its_variant_that_succeeded():
    lost = row(1, Run(Size(1, 1), 1, 1, state="failed"))
    other = Row(Size(1, 1, variant=(("sync", "adasum"),)), 1, (run_of(1, 2),))
    two = row(2, run_of(10, 20, 30))
    four = row(4, run_of(8, 16, 24))
    filled = measures.filled((lost, four, two, other))
    assert filled[0].speed_up is None
    assert filled[2].speed_up == Spread(1.0, 1.0, 1.0, 1)
    assert filled[1].speed_up == Spread(1.25, 1.25, 1.25, 1)
    assert filled[1].efficiency == Spread(0.625, 0.625, 0.625, 1)


def test_spreads_are_over_runs_and_leave_out_what_is_unknown():
    assert measures.spread([3.0, None, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0, 3)
    assert measures.spread([None]) is None


def test_held_out_accuracy_is_of_the_last_validation_else_of_the_result_line():
    tested = Run(Size(1, 1), 1, 1, epochs=(Epoch(1, accuracy=0.9),), test_accuracy=0.8)
    validated = Run(
        Size(1, 1), 1, 1, test_accuracy=0.8, epochs=(Epoch(1, validation_accuracy=0.7),)
    )
    assert (measures.accuracy(tested), measures.accuracy(validated)) == (0.8, 0.7)
    assert measures.training_accuracy(tested) == 0.9
    assert measures.accuracy(Run(Size(1, 1), 1, 1)) is None


def test_an_accuracy_is_reached_at_the_end_of_the_first_epoch_that_has_it():
    ends = [(1, 10.0, 0.5), (2, 20.0, 0.8), (3, 30.0, 0.7)]
    run = Run(
        Size(1, 1), 1, 1, epochs=tuple(Epoch(n, s, validation_accuracy=a) for n, s, a in ends)
    )
    assert measures.seconds_to(run, 0.7) == 20.0
    assert measures.seconds_to(run, 0.9) is None
