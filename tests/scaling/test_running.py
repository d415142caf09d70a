"""Which runs are to do, how one is kept, and what it cost."""

from __future__ import annotations

import pytest

from launchers.core.model.jobs import JobStatus, LogLine
from launchers.scaling import running
from launchers.scaling.costs import cost_of
from tests.scaling.made import run


@pytest.mark.parametrize(
    ("state", "again", "is_to_do"),
    [
        ("waiting", False, True),
        ("running", False, True),
        ("succeeded", False, False),
        ("succeeded", True, False),
        ("failed", False, False),
        ("failed", True, True),
        ("not proven", True, True),
        ("not started", False, False),
        ("not started", True, True),
    ],
)
def test_what_has_ended_is_kept_and_what_failed_runs_only_again(
    state: str, again: bool, is_to_do: bool
):
    assert bool(running.to_do([run(state=state)], again)) is is_to_do


def test_a_run_that_goes_on_keeps_its_job_and_one_that_runs_again_has_none():
    (goes_on,) = running.to_do([run(state="running", job="a-1")], again=True)
    (fresh,) = running.to_do([run(state="failed", job="a-1", reason="x")], again=True)

    assert goes_on.job == "a-1"
    assert (fresh.job, fresh.reason, fresh.epochs, fresh.state) == ("", "", (), "waiting")


def test_a_run_is_kept_with_how_it_ended_and_what_it_said():
    line = LogLine(0.0, "", 0, "progress: epoch 1/1, step 1/1, 9 images/s, loss 0.5, 3 s")
    status = JobStatus("failed", "rank 1 \x1b[2Jdied", "a proof")

    found = running.ended(run(state="running"), status, [line], cost=1.5)

    assert (found.state, found.reason, found.cost) == ("failed", "rank 1 died", 1.5)
    assert [epoch.seconds for epoch in found.epochs] == [3.0]


@pytest.mark.parametrize(
    ("details", "prices", "expected"),
    [
        ({"billable_seconds": 1800}, {"m": 4.0}, 4.0),
        ({"billable_seconds": 1800, "started": 0.5, "ended": 9.0}, {"m": 4.0}, 4.0),
        ({"started": 1000.0, "ended": 4600.0}, {"m": 4.0}, 8.0),
        ({"ended": 4600.0}, {"m": 4.0}, None),
        ({"billable_seconds": 1800}, {"other": 4.0}, None),
        ({"billable_seconds": None}, {"m": 4.0}, None),
    ],
)
def test_a_cost_is_price_times_instances_times_hours_or_not_known(
    details: dict[str, object], prices: dict[str, float], expected: float | None
):
    assert cost_of(JobStatus("succeeded", details=details), 2, "m", prices) == expected


def test_a_training_that_has_diverged_says_so_though_its_job_succeeded():
    lines = [
        LogLine(0.0, "", 0, f"progress: epoch {number}/2, step 1/1, 9 images/s, loss {loss}")
        for number, loss in ((1, "0.5"), (2, "nan"))
    ]
    found = running.ended(run(), JobStatus("succeeded"), lines)
    zero = LogLine(0.0, "", 0, "progress: epoch 0, loss nan")

    assert found.reason == "its loss is not a number from epoch 2 on"
    assert running.ended(run(), JobStatus("succeeded"), [zero]).reason.endswith("epoch 0 on")
    assert [epoch.loss for epoch in found.epochs] == [0.5, None]


@pytest.mark.parametrize(
    ("usable", "expected"), [(None, 1.5), ({0}, 1.0), ({1, 7}, 0.5), ({7}, None)]
)
def test_the_cores_that_count_as_busy_are_those_that_may_be_used(
    usable: set[int] | None, expected: float | None
):
    before = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 0 0 0 50 0 0 0 0 0 0\ncpu1 0 0 0 0 50 0 0 0\nintr 1\n"
    after = (
        "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 60 0 40 50 0 0 0 0 5 0\ncpu1 0 0 0 25 75 20 20 10\nintr 1\n"
    )

    assert running.busy_between(before, after, usable) == expected


@pytest.mark.parametrize("text", ["", "cpu0 a b c\n", "cpu0 0 0 0 0 0 0 0 0\n"])
def test_a_system_that_does_not_say_what_is_busy_has_no_load(text: str):
    assert running.busy_between(text, text, None) is None
