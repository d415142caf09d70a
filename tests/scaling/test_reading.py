"""What a study reads from a job's lines."""

from __future__ import annotations

import pytest

from launchers.core.model.jobs import LogLine
from launchers.scaling.reading import Said, read
from launchers.scaling.results import Epoch

END = (
    "progress: epoch 1/3, step 22/22, 5,120 images/s, loss 0.4123, accuracy 0.9312, "
    "validation loss 0.5012, validation accuracy 0.9001, 12.3 s"
)
RESULT = (
    "result: test accuracy 0.9722, test loss 0.0912, 3 epochs, 36.9 s, 5120 images/s, "
    "world size 2, model in DIR, 2 checkpoints in DIR"
)


def lines(*texts: str, rank: int | None = 0) -> list[LogLine]:
    return [LogLine(0.0, "host-1", rank, text) for text in texts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (END, Epoch(1, 12.3, 5120.0, 0.4123, 0.9312, 0.5012, 0.9001)),
        ("progress: epoch 2/3, step 9/9, 80 images/s, loss 1e-3", Epoch(2, None, 80.0, 0.001)),
        ("progress: epoch 2/3, step 9/9, 80 images/s, loss nan", Epoch(2, None, 80.0, None)),
        ("progress: epoch 2/3, loss 0.5, 3 s", Epoch(2, 3.0, None, 0.5)),
        ("progress: epoch 2/3", Epoch(2)),
    ],
)
def test_a_line_says_what_it_says_and_nothing_else(text: str, expected: Epoch):
    assert read(lines(text)).epochs == (expected,)


@pytest.mark.parametrize(
    "text", ["epoch 1/3, loss 0.5", "progress: epoch one", "the result: test accuracy 1", ""]
)
def test_other_lines_say_nothing(text: str):
    assert read(lines(text)) == Said()


def test_an_epoch_is_told_by_its_end_whatever_comes_before_or_behind():
    step = "progress: epoch 1/3, step 20/22, 9 images/s, loss 9.0"
    last = "progress: epoch 1/3, step 22/22, 8 images/s, loss 8.0"

    for order in ((step, last, END), (END, step), (END, last)):
        assert read(lines(*order)).epochs[0].accuracy == 0.9312
    assert read(lines(step, last)).epochs == (Epoch(1, None, 8.0, 8.0),)


def test_a_script_whose_every_rank_prints_is_read_once():
    found = read([*lines(END.replace("0.4123", "0.9"), rank=1), *lines(END)])

    assert [epoch.loss for epoch in found.epochs] == [0.4123]


def test_lines_of_no_rank_in_particular_are_read():
    assert len(read(lines(END, rank=None)).epochs) == 1


def test_the_result_line_has_the_tests_accuracy_and_loss():
    found = read(lines(END, RESULT))

    assert (found.test_accuracy, found.test_loss) == (0.9722, 0.0912)
    assert read(lines("result: 3 epochs, loss 0.2")).test_loss is None
