"""What is kept of a job's lines: whose count, how much time is left, how much memory it takes."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Iterable

import pytest

from launchers.cli.show.training import training_lines
from launchers.core.model.jobs import LogLine
from launchers.core.output.training_progress.line import parse
from launchers.core.output.training_progress.state import Progress, TrainingProgress


def after(lines: Iterable[tuple[float, str]], rank: int | None = 0) -> Progress:
    training = TrainingProgress()
    for at, text in lines:
        training.see(LogLine(at, "host-1", rank, text))
    assert training.progress is not None
    return training.progress


def epochs(count: int, of: int, each: float, first: int = 1) -> list[tuple[float, str]]:
    """Lines of ours, ten steps an epoch at an even pace."""
    texts = (
        f"progress: epoch {first + step // 10}/{of}, step {1 + step % 10}/10"
        for step in range(10 * count)
    )
    return [(1000 + (step + 1) * each / 10, text) for step, text in enumerate(texts)]


def test_time_left_follows_from_the_pace_that_was_seen():
    progress = after(epochs(2, 5, each=60))
    assert progress.left == pytest.approx(180, rel=0.01)
    assert progress.left_at(1120 + 30) == pytest.approx(150, rel=0.01)
    assert progress.fraction == pytest.approx(0.4)


def test_the_pace_is_that_of_the_last_epoch_with_all_that_came_between():
    slow = [(at + 3600 if at > 1060 else at, text) for at, text in epochs(3, 4, each=60)]
    assert after(slow).left == pytest.approx(60, rel=0.02), "the pause lies an epoch back"


def test_a_training_of_unknown_length_has_no_time_left():
    told = [(at, text.replace("/5,", ",")) for at, text in epochs(2, 5, each=60)]
    progress = after(told)
    assert progress.place == "epoch 2, step 10/10"
    assert (progress.left, progress.fraction) == (None, None)


def test_a_training_that_falls_silent_has_no_time_left():
    progress = after(epochs(2, 5, each=60))
    assert progress.left_at(1125) is not None
    assert progress.is_late_at(1125 + 600)
    assert progress.left_at(1125 + 600) is None


def test_a_training_that_goes_on_from_a_checkpoint_is_not_taken_for_a_fast_one():
    progress = after(epochs(2, 100, each=60, first=51))
    assert progress.left == pytest.approx(48 * 60, rel=0.01)


def test_without_times_what_is_left_follows_from_the_rate_in_steps():
    progress = after([(0.0, "progress: epoch 1/2, step 5/10, 2 steps/s")])
    assert (progress.left, progress.epoch_left, progress.at) == (7.5, 2.5, None)
    assert after([(0.0, "progress: epoch 1/2, step 5/10, 2 images/s")]).left is None


def test_rank_0_alone_is_heard():
    training = TrainingProgress()
    for rank, epoch in ((1, 7), (0, 2), (3, 9), (None, 5)):
        training.see(LogLine(0.0, f"host-{rank}", rank, f"progress: epoch {epoch}/9"))
    assert training.progress is not None
    assert training.progress.epoch == 2


def test_of_hosts_without_ranks_the_first_is_heard_until_rank_0_speaks():
    training = TrainingProgress()
    training.see(LogLine(0.0, "algo-1", None, "progress: epoch 1/9"))
    training.see(LogLine(0.0, "algo-2", None, "progress: epoch 4/9"))
    assert training.progress is not None
    assert training.progress.epoch == 1
    training.see(LogLine(0.0, "algo-2", 0, "progress: epoch 3"))
    assert training.progress.place == "epoch 3"


def test_lines_of_ours_count_before_any_bar():
    progress = after(
        [
            (1.0, "progress: epoch 2/9, step 1/10"),
            (2.0, "Epoch 1/3"),
            (3.0, " 40%|####      | 40/100 [00:40<01:00,  5.00it/s]"),
        ]
    )
    assert progress.place == "epoch 2/9, step 1/10"


def test_a_bar_within_a_bar_is_not_the_training():
    progress = after(
        [
            (1.0, "  0%|          | 0/3 [00:00<?, ?it/s]"),
            (2.0, " 40%|####      | 40/100 [00:40<01:00,  5.00it/s]"),
            (3.0, " 33%|###       | 1/3 [01:40<03:00, 100.0s/it]"),
            (4.0, " 10%|#         | 10/100 [00:10<01:30,  1.00it/s]"),
        ]
    )
    assert progress.place == "step 1/3"


def test_metrics_stay_when_an_epoch_begins():
    progress = after(
        [(1.0, "Epoch 1/2"), (2.0, "9/9 - 1s - loss: 0.5 - 9ms/step"), (3.0, "Epoch 2/2")]
    )
    assert progress.place == "epoch 2/2"
    assert progress.metrics == {"loss": 0.5}


HOSTILE = [
    "a" + " " * 4000 + "x%|",
    "Epoch 1" + " " * 4000 + "x • y",
    f"progress: epoch {'9' * 400}/3, step 1/2",
    f"progress: epoch 1/3, step 1/2, {'9' * 400} images/s, loss 1e999999999",
    "progress: epoch 1/0, step 5/0, 0 images/s, loss nan",
    "progress: epoch 0/0, step 0/0, -5 images/s, loss -inf",
    "progress: epoch 7/3, step 9/2, inf images/s",
    f"{'1' * 400}%|#| {'2' * 400}/3 [00:00<00:00, 1it/s]",
    " 50%|#| 5/0 [00:00<99:99:99, 1e9it/s]",
    "Epoch 99999999999999999999/3",
    "{'loss': '" + "9" * 3000 + "', 'epoch': 1e999}",
    "[" * 4000 + "%|" + "]" * 4000,
    "{" + "'epoch': {" * 300 + "}" * 301,
    "progress: epoch 1/3, step 1/2, 1e-320 steps/s",
    f"progress: epoch 1/{'9' * 15}, step 1/{'9' * 15}, 1e-300 steps/s, 1e-320 s",
    "Epoch 1/2:  50%|#| 5/10 [00:00<00:01, .0000000000000000000001s/it]",
    "x epoch" + " " * 4000 + "x  5%|#| 1/2 [00:00<00:00, 1it/s]",
    "Epoch 0/4 ━━ 5/10 0:00:01 • 0:00:01 4.90it/s " + "a" * 4000,
    "total_loss: " + "iter: 1  " * 400,
    "Train: 0 [ 1/2 (1%)] " + "a: " * 1300,
    "workflow: " * 400 + "epoch",
    f"Epoch(train) [{'9' * 300}][1/{'9' * 300}]  eta: 9999 days, 99:99:99  time: 1e-320  a: nan",
    "1/2 2G " + "x: 50% ━" * 500,
    "progress: epoch 1/3, " + ", ".join(f"metric{n} {n}" for n in range(100_000)),
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_numbers_end_nothing_and_are_bounded(line: str):
    training = TrainingProgress()
    for text in ("progress: epoch 1/3, step 1/2", line, "Epoch 1/2", line):
        training.see(LogLine(1e12, "", 0, text))
    progress = training.progress
    assert progress is not None
    assert len(progress.metrics) <= 32
    assert progress.rate is None or (math.isfinite(progress.rate) and progress.rate > 0)
    assert progress.left is None or math.isfinite(progress.left)
    assert progress.fraction is None or 0 <= progress.fraction <= 1
    assert json.dumps(progress.place)
    assert training_lines(progress, now=1e12)


def test_a_line_of_ten_megabytes_is_read_by_its_end():
    states = (f"Epoch 1/2:  9%|#  | {n}/999999 [00:01<00:01, 4.0it/s]" for n in range(220_000))
    line = "\r".join(states)
    assert len(line) > 10_000_000
    told = parse(line)
    assert told is not None
    assert told.step == 219_999


def test_memory_does_not_grow_with_the_lines():
    training = TrainingProgress()

    def feed(begin: int) -> None:
        for n in range(begin, begin + 5000):
            text = f"progress: epoch {1 + n // 100}/999, step {n % 100}/100, loss 0.5, m{n} 1.0"
            training.see(LogLine(1000.0 + n, "", 0, text))

    feed(0)
    tracemalloc.start()
    feed(5000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 50_000


def test_an_untitled_bar_beside_bars_that_say_their_epoch_is_not_the_training():
    """A validation's, or one around them."""
    progress = after(
        [
            (1.0, "  0%|          | 0/3 [00:00<?, ?it/s]"),
            (2.0, "Epoch 1/3: 100%|##########| 50/50 [00:10<00:00,  5.00it/s]"),
            (3.0, " 15%|#         | 3/20 [00:01<00:09,  2.00it/s]"),
            (4.0, " 33%|###       | 1/3 [00:11<00:22, 11.00s/it]"),
        ]
    )
    assert progress.place == "epoch 1/3, step 50/50"


@pytest.mark.parametrize("title", ["Epochs", "Training epochs", ""])
def test_a_bar_of_epochs_says_the_epoch_and_the_time_of_all(title: str):
    """Whatever the bars within it count."""
    unit = "it" if title else "epoch"
    before = f"{title}: " if title else ""
    told: list[tuple[float, str]] = []
    for ended in range(4):
        at = 1000.0 + 100 * ended
        told.append((at, f"{before} 25%|##   | {ended}/10 [0{ended}:00<01:30, 100.0s/{unit}]"))
        told.append((at + 50, "Epoch 7:  50%|#####  | 5/10 [00:50<00:50,  1.00it/s]"))
        told.append((at + 60, " 50%|#####  | 5/10 [00:50<00:50,  1.00it/s]"))
    progress = after(told[:-2])
    assert progress.place == "epoch 4/10"
    assert progress.left == pytest.approx(700)
    assert progress.fraction == pytest.approx(0.3)
    assert after(told).place == "epoch 4/10"
    end = after([*told, (2000.0, f"{before}100%|#####| 10/10 [10:00<00:00, 100.0s/{unit}]")])
    assert (end.place, end.left, end.fraction) == ("epoch 10/10", 0, 1)


def test_another_training_behind_one_that_stopped_early_counts():
    told = [
        (1000.0, "Epochs:  30%|###  | 3/10 [00:30<01:10, 10.0s/it]"),
        (1001.0, "Epoch 1/5:  50%|##  | 25/50 [00:05<00:05,  5.00it/s]"),
    ]
    assert after(told).place == "epoch 1/5, step 25/50"


def test_a_bar_named_epoch_may_be_one_of_batches():
    progress = after([(1.0, "Epoch:  10%|#    | 40/400 [00:10<01:30,  4.00it/s]")])
    assert (progress.place, progress.left) == ("step 40/400", None)


@pytest.mark.parametrize(
    "form", ["Epoch {}/{}", "Epoch {}/{}: 100%|#####| 9/9 [00:09<00:00,  1.00it/s]"]
)
def test_how_many_epochs_there_are_is_known_at_the_end_where_they_count_from_0(form: str):
    """``Epoch 0/4`` is the first of four, or of five as in PyTorch's tutorial on fine-tuning."""
    told = [(1000.0 + 10 * number, form.format(number, 4)) for number in range(5)]
    for count in range(1, 5):
        progress = after(told[:count])
        assert (progress.epoch, progress.epochs, progress.left) == (count, None, None)
    assert (after(told).epoch, after(told).epochs) == (5, 5)


def test_bars_of_ultralytics_are_read_and_its_scans_and_validations_are_not():
    columns = "      2.1G      1.234      2.345      1.234         16        640"
    told = [
        (1.0, "train: Scanning labels... 2 images: 50%|# | 2/4 [00:00<00:00, 9it/s]"),
        (10.0, f"      1/100{columns}: 100%|#####| 62/62 [00:10<00:00,  6.20it/s]"),
        (12.0, "   Class     Images  Instances      Box(P:  50%|##   | 2/4 [00:01<00:01, 2.0it/s]"),
        (15.0, f"      2/100{columns}:  50%|##   | 31/62 [00:05<00:05,  6.20it/s]"),
    ]
    assert after(told[:3]).place == "epoch 1/100, step 62/62"
    assert after(told).place == "epoch 2/100, step 31/62"
