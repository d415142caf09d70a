from __future__ import annotations

import re

import pytest

from entrypoints.lib.progress import Pace, Progress, result_line
from entrypoints.lib.results import Score

GRAMMAR = re.compile(
    r"progress: epoch \d+/\d+, step \d+/\d+, \d+ images/s, loss \d+\.\d{4}"
    r"(, accuracy \d\.\d{4}(, validation loss \d+\.\d{4}, validation accuracy \d\.\d{4})?"
    r", \d+\.\d\d s)?"
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def progress(clock: Clock, lines: list[str], steps: int = 10) -> Progress:
    return Progress(
        epochs=2,
        steps=steps,
        samples_per_epoch=steps * 64,
        samples_per_step=64,
        write=lines.append,
        clock=clock,
    )


def train(
    line: Progress, clock: Clock, epoch: int, seconds: list[float], **validation: float
) -> float:
    """An epoch whose steps take so many seconds each."""
    line.epoch_begins()
    for step, duration in enumerate(seconds, start=1):
        clock.now += duration
        line.step_ended(epoch, step, lambda: 0.5)
    pace = line.epoch_measured()
    clock.now += 100.0  # what comes between two epochs is in no figure
    line.epoch_ended(epoch, pace, {"loss": 0.25, "accuracy": 0.75, **validation})
    return pace.images_per_second


def test_every_line_follows_the_grammar_that_the_launcher_reads() -> None:
    clock, lines = Clock(), list[str]()
    train(progress(clock, lines), clock, 1, [3.0] + [0.5] * 9)
    assert len(lines) > 2
    assert [line for line in lines if not GRAMMAR.fullmatch(line)] == []


def test_an_epoch_of_many_quick_steps_has_one_line_with_averaged_accuracy() -> None:
    clock, lines = Clock(), list[str]()
    train(progress(clock, lines), clock, 2, [0.01] * 10)
    assert lines == [
        "progress: epoch 2/2, step 10/10, 6400 images/s, loss 0.2500, accuracy 0.7500, 0.09 s"
    ]


def test_slow_steps_have_a_line_each_with_the_rate_since_the_line_before() -> None:
    clock, lines = Clock(), list[str]()
    train(progress(clock, lines, steps=4), clock, 1, [1.0, 2.0, 4.0, 1.0])
    assert lines == [
        "progress: epoch 1/2, step 2/4, 32 images/s, loss 0.5000",
        "progress: epoch 1/2, step 3/4, 16 images/s, loss 0.5000",
        "progress: epoch 1/2, step 4/4, 27 images/s, loss 0.2500, accuracy 0.7500, 7.00 s",
    ]


def test_the_first_step_of_a_run_which_compiles_counts_for_no_rate() -> None:
    clock, lines = Clock(), list[str]()
    line = progress(clock, lines)
    assert train(line, clock, 1, [60.0] + [0.1] * 9) == pytest.approx(640)
    assert train(line, clock, 2, [0.2] * 10) == pytest.approx(320)
    assert line.pace.images_per_second == pytest.approx((9 + 10) * 64 / (0.9 + 2.0))
    assert line.pace.seconds == pytest.approx(0.9 + 2.0)


def test_what_validation_found_stands_between_accuracy_and_seconds() -> None:
    clock, lines = Clock(), list[str]()
    found = {"validation_loss": 0.5, "validation_accuracy": 0.625}
    train(progress(clock, lines), clock, 1, [0.1] * 10, **found)
    assert GRAMMAR.fullmatch(lines[-1])
    assert lines[-1].endswith(
        "accuracy 0.7500, validation loss 0.5000, validation accuracy 0.6250, 0.90 s"
    )


def test_an_epoch_of_one_step_still_has_a_rate() -> None:
    clock, lines = Clock(), list[str]()
    assert train(progress(clock, lines, steps=1), clock, 1, [2.0]) == pytest.approx(32)


def test_losses_are_fetched_for_lines_and_the_first_step_alone() -> None:
    clock, fetched = Clock(), list[float]()
    line = progress(clock, [])

    def loss() -> float:
        fetched.append(clock.now)
        return 0.5

    line.epoch_begins()
    for step in range(1, 11):
        clock.now += 0.5
        line.step_ended(1, step, loss)
    assert fetched == [100.5, 101.5, 102.5, 103.5, 104.5]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            (Score(0.97222, 0.10344), 3, Pace(5120.4, 36.94), 2, "/m/model.keras", "/c", 1),
            (
                "result: test accuracy 0.9722, test loss 0.1034, 3 epochs, 36.9 s, "
                "5120 images/s, world size 2, model in /m/model.keras, 1 checkpoint in /c"
            ),
        ),
        (
            (Score(1.0, 0.0), 1, Pace(0.0, 0.0), 1, None, None, 0),
            (
                "result: test accuracy 1.0000, test loss 0.0000, 1 epoch, 0.0 s, 0 images/s, "
                "world size 1, no model written, no checkpoints written"
            ),
        ),
    ],
)
def test_the_result_line_begins_with_the_accuracy_and_says_where_things_lie(
    arguments: tuple[Score, int, Pace, int, str | None, str | None, int], expected: str
) -> None:
    assert result_line(*arguments) == expected
