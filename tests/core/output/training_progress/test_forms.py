"""What is read of lines that real frameworks printed, each captured in a pipe; the name of a file
says the version."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchers.core.model.jobs import LogLine
from launchers.core.output.training_progress.line import parse
from launchers.core.output.training_progress.state import Progress, TrainingProgress

CAPTURED = Path(__file__).with_name("captured")


def read(name: str, until: str = "") -> Progress | None:
    """The progress after a captured file, its bars state by state, a second each."""
    training, moment = TrainingProgress(), 1_000_000.0
    for line in CAPTURED.joinpath(name).read_bytes().decode().split("\n"):
        for state in filter(str.strip, line.split("\r")):
            if until and until in state:
                return training.progress
            training.see(LogLine(moment, "host-1", 0, state))
            moment += 1
    return training.progress


def metrics(progress: Progress | None) -> dict[str, float]:
    assert progress is not None
    return dict(progress.metrics)


@pytest.mark.parametrize(
    ("name", "place", "loss", "validation", "fraction"),
    [
        ("tf_keras-2.18.0-verbose-1.log", "epoch 2/2, step 10/10", 0.7157, 0.7336, 1.0),
        ("tf_keras-2.18.0-verbose-2.log", "epoch 2/2, step 10/10", 0.7839, 0.7697, 1.0),
        ("keras-3.15.1-verbose-1.log", "epoch 2/2, step 10/10", 0.7054, 0.6718, 1.0),
        ("keras-3.15.1-verbose-2.log", "epoch 2/2, step 10/10", 0.7253, 0.6852, 1.0),
        ("transformers-4.57.1.log", "epoch 2, step 6/6", 0.1667, 0.15, 1.0),
        ("lightning-2.5.6-tqdm.log", "epoch 2, step 5/5", 0.05, 0.2, None),
        ("lightning-2.5.6-rich-terminal.log", "epoch 2/2, step 5/5", 0.05, 0.2, 1.0),
        ("tqdm-4.70.1-epochs.log", "epoch 2/2, step 5/5", 0.1, None, 1.0),
        ("tqdm-4.70.1-untitled.log", "step 8/8", None, None, None),
    ],
)
def test_a_framework_is_read_to_its_end_and_not_its_evaluations(
    name: str, place: str, loss: float | None, validation: float | None, fraction: float | None
):
    progress = read(name)
    found = metrics(progress)
    assert progress is not None
    assert progress.place == place
    assert found.get("loss", found.get("train_loss")) == loss
    assert found.get("validation loss") == validation
    assert progress.fraction == fraction
    assert progress.rate
    assert progress.rate > 0


@pytest.mark.parametrize("name", ["tf_keras-2.18.0-verbose-1.log", "keras-3.15.1-verbose-1.log"])
def test_a_bar_of_keras_is_read_while_it_grows(name: str):
    first, second = read(name, until="10/10"), read(name, until="--evaluate")
    assert first is not None
    assert first.place == "epoch 1/2, step 1/10"
    assert first.epoch_left
    assert first.fraction == pytest.approx(0.05)
    assert second is not None
    assert second.place == "epoch 2/2, step 10/10"


def test_steps_of_the_trainer_are_those_of_the_whole_training():
    progress = read("transformers-4.57.1.log", until="67%")
    assert progress is not None
    assert (progress.place, progress.of) == ("epoch 1, step 3/6", "training")
    assert progress.fraction == 0.5
    assert progress.left is not None
    assert metrics(progress) == {
        "loss": 0.3333,
        "grad_norm": 1.2034,
        "learning_rate": 2.5e-05,
        "validation loss": 0.3,
    }


def test_an_epoch_of_ours_is_read_whole():
    told = parse(
        "progress: epoch 1/3, step 22/22, 5,120 images/s, loss 0.4123, accuracy 0.9312, "
        "validation loss 0.5012, validation accuracy 0.9001, 12.3 s"
    )
    assert told is not None
    assert (told.epoch, told.epochs, told.step, told.steps) == (1, 3, 22, 22)
    assert (told.rate, told.unit, told.seconds) == (5120, "images", 12.3)
    assert told.metrics == {
        "loss": 0.4123,
        "accuracy": 0.9312,
        "validation loss": 0.5012,
        "validation accuracy": 0.9001,
    }


@pytest.mark.parametrize(
    ("line", "place", "rate", "unit"),
    [
        ("progress: epoch 2", "epoch 2", None, "steps"),
        ("progress: epoch 2/5, 12.5 steps/s", "epoch 2/5", 12.5, "steps"),
        ("progress: epoch 1/1, step 3/4, loss nan", "epoch 1/1, step 3/4", None, "steps"),
        ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.300039", "epoch 1, 640/60000 samples", None, ""),
        (
            "Epoch: [0][  10/391]\tTime  0.500 ( 0.250)\tData  0.001 ( 0.123)\tLoss 6.9e+00 (7.0)",
            "epoch 1, step 10/391",
            4.0,
            "steps",
        ),
        (
            "Epoch: [0]  [  10/1251]  eta: 0:12:34  lr: 0.1  img/s: 300.0  loss: 6.9 (7.0)",
            "epoch 1, step 10/1251",
            None,
            "",
        ),
        ("Epoch 0:  12it [00:03,  3.50it/s, v_num=1]", "", None, ""),
        ("Epoch 0: |          | 12/? [00:03<?,  3.50it/s, v_num=1]", "epoch 1, step 12", 3.5, ""),
        (" 40%|####      | 40/100 [1:00:40<01:00,  2.00s/it]", "step 40/100", 0.5, "steps"),
        (
            "epoch 3:  5%|5 | 5/100 [00:40<01:00, 640.0img/s]",
            "epoch 3, 5/100 samples",
            640,
            "images",
        ),
        ("     12/Unknown - 1s 50ms/step - loss: 0.5", "", None, ""),
        ("{'loss': '0.5', 'epoch': '0.25'}", "epoch 1", None, ""),
        (
            (
                "Train: 0 [   9/1251 (  1%)]  Loss: 6.95 (6.96)  Time: 0.36s,  709.12/s  "
                "(0.39s,  651.88/s)  LR: 1.000e-05  Data: 0.005 (0.026)"
            ),
            "epoch 1, step 10/1251",
            651.88,
            "samples",
        ),
        (
            (
                "07/03 13:04:17 - mmengine - INFO - Epoch(train)   [1][ 10/196]  "
                "lr: 3.3333e-04  eta: 0:13:14  time: 0.5000  data_time: 0.0335  loss: 6.2"
            ),
            "epoch 1, step 10/196",
            2.0,
            "steps",
        ),
        (
            (
                "2024/05/13 22:58:17 - mmengine - INFO - Iter(train) [   50/40000]  "
                "lr: 9.9891e-03  eta: 16:31:08  time: 0.2500  data_time: 0.0053  loss: 2.1633"
            ),
            "step 50/40000",
            4.0,
            "steps",
        ),
        (
            (
                "2022-11-12 14:30:37,044 - mmdet - INFO - Epoch [1][50/962]\tlr: 1.978e-03, "
                "eta: 2:03:32, time: 0.200, data_time: 0.058, memory: 3483, loss: 1.0950"
            ),
            "epoch 1, step 50/962",
            5.0,
            "steps",
        ),
        (
            (
                "\x1b[32m[11/24 17:17:38 d2.utils.events]: \x1b[0m eta: 0:03:49  iter: 19  "
                "total_loss: 5.922  time: 0.2500  data_time: 0.8461  lr: 3.9962e-05"
            ),
            "step 20",
            4.0,
            "steps",
        ),
        (
            (
                "      2/100      2.1G      1.234      2.345         16        640: "
                "50% ━━━━━━────── 31/62 6.2it/s 5.0s<5.0s"
            ),
            "epoch 2/100, step 31/62",
            6.2,
            "steps",
        ),
    ],
)
def test_lines_of_other_forms(line: str, place: str, rate: float | None, unit: str):
    training = TrainingProgress()
    training.see(LogLine(0.0, "", 0, line))
    progress = training.progress
    assert (progress.place if progress else "") == place
    if progress:
        assert progress.rate == rate
        assert unit in ("", progress.unit)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "loss 0.5",
        "progress: ",
        "progress: epoch x/y, step 1/2",
        "progress: 50 %",
        "Epoch 1/3 done",
        "Saving model at epoch 3",
        "10/10 images were good",
        "2026/11 - 3s",
        "model.safetensors: 100%|##########| 440M/440M [00:05<00:00, 80.1MB/s]",
        "Map: 100%|##########| 1000/1000 [00:00<00:00, 5000.00 examples/s]",
        "Loading checkpoint shards:  50%|#####     | 1/2 [00:01<00:01,  1.00s/it]",
        "Validation DataLoader 0:  50%|#####     | 1/2 [00:00<00:00,  7.84it/s]",
        "Encoding photos:  50%|#####     | 1/2 [00:00<00:00,  7.84it/s]",
        "Epoch 3 validating:  50%|#####     | 1/2 [00:00<00:00,  7.84it/s]",
        "disk 93%|full",
        "{'epoch': 'x'}",
        "{'a': 1}",
        "{'epoch': -1.0}",
        "{'epoch': inf}",
        "Train Epoch: one [1/2 (50%)]",
        "313/313 [====",
        "07/03 13:04:17 - step 3 of the epoch took 5 ms/step",
        "06/11 03:36:18 - mmengine - INFO - Epoch(val) [40][ 5/13]    eta: 0:00:00  time: 0.0558",
        "Train: images in 3 folders [12/40]",
        "workflow: [('train', 1)], max: 12 epochs",
        "Class     Images  Instances      Box(P: 50% ━━━━━━────── 2/4 3.0it/s 0.7s<0.7s",
        "setup.zip: 50% ━━━━━━────── 1/2 3.0it/s 0.7s<0.7s",
    ],
)
def test_what_says_nothing_of_a_training_is_no_progress(line: str):
    training = TrainingProgress()
    assert training.see(LogLine(0.0, "", 0, line)) is False
    assert training.progress is None


def test_an_evaluation_of_keras_before_any_epoch_is_no_training():
    training = TrainingProgress()
    training.see(LogLine(0.0, "", 0, "20/22 [====>...] - ETA: 0s - loss: 0.4"))
    assert training.progress is None


TIMM = "Train: {} [{:>4d}/10 ( 5%)]  Loss: 6.9 (6.8)  Time: 1s, 64.0/s  (1s, 64.0/s)  LR: 1e-5"
MMENGINE = "07/03 13:04:17 - mmengine - INFO - "


def logged(*lines: str) -> Progress:
    training = TrainingProgress()
    for number, line in enumerate(lines):
        training.see(LogLine(1000.0 + 10 * number, "host-1", 0, line))
    assert training.progress is not None
    return training.progress


def test_timm_is_read_with_its_epochs_and_validations():
    progress = logged(
        "Scheduled epochs: 3. LR stepped per epoch.",
        *(TIMM.format(epoch, step) for epoch in (0, 1) for step in range(10)),
        "Test: [   0/4]  Time: 0.5 (0.5)  Loss:   9.0 ( 9.0)  Acc@1:  11.1 ( 11.1)",
        "Test: [   4/4]  Time: 0.1 (0.2)  Loss:   1.2 ( 1.4)  Acc@1:  72.3 ( 68.9)",
    )
    assert progress.place == "epoch 2/3, step 10/10"
    assert progress.metrics == {"loss": 6.8, "validation loss": 1.4, "validation acc@1": 68.9}
    assert progress.left is not None
    assert 90 <= progress.left <= 140


def test_what_openmmlab_says_is_left_counts_where_the_epochs_are_unknown():
    training = "Epoch(train) [1][196/196]  lr: 1e-3  eta: 2 days, 0:00:30  time: 0.5  loss: 6.1"
    progress = logged(
        MMENGINE + training,
        MMENGINE + "Epoch(val) [1][79/79]    accuracy/top1: 45.8000  data_time: 0.01  time: 0.03",
    )
    assert progress.place == "epoch 1, step 196/196"
    assert progress.left == 2 * 86400 + 20
    assert progress.metrics == {"lr": 1e-3, "loss": 6.1, "validation accuracy/top1": 45.8}


def test_epochs_of_mmcv_are_those_that_it_said_at_its_begin():
    progress = logged(
        "2022 - mmdet - INFO - workflow: [('train', 1)], max: 12 epochs",
        "2022 - mmdet - INFO - Epoch [2][481/962]\tlr: 1e-3, eta: 2:00:00, time: 0.5, loss: 1.09",
    )
    assert (progress.place, progress.fraction) == ("epoch 2/12, step 481/962", 1.5 / 12)
