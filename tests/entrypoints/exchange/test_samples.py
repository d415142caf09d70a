"""Which losses and batches a process keeps, without a framework."""

from __future__ import annotations

from launch_runtime.rank.exchange.samples import Samples


def noted(values: list[float], kind: str = "losses") -> Samples:
    samples = Samples()
    for value in values:
        samples.note(kind, lambda value=value: value)
    return samples


def test_values_are_read_at_the_first_steps_and_then_ever_more_rarely() -> None:
    read: list[int] = []
    samples = Samples()
    for number in range(1, 40):
        samples.note("losses", lambda number=number: read.append(number) or number / 2)
    assert read == [1, 2, 3, 4, 8, 16, 32]
    assert samples.record() == {"losses": [[number, number / 2] for number in read]}


def test_kinds_are_counted_apart() -> None:
    samples = noted([2.0, 3.0])
    samples.note("batches", lambda: 7.0)
    assert samples.record() == {"losses": [[1, 2.0], [2, 3.0]], "batches": [[1, 7.0]]}


def test_what_is_no_number_is_left_out_and_counts_as_a_step() -> None:
    samples = noted([2.0, float("nan"), float("inf")])
    assert samples.note("losses", lambda: 1 / 0) == 4
    assert samples.note("losses", lambda: 3.0) == 5
    for _ in range(3):
        samples.note("losses", lambda: 4.0)
    assert samples.record() == {"losses": [[1, 2.0], [8, 4.0]]}


def test_a_kind_of_which_nothing_was_read_is_not_told() -> None:
    assert noted([float("nan")]).record() == {}
