"""What loggers of some frameworks print: timm's, OpenMMLab's (mmengine, mmcv) and Detectron2's::

Train: 0 [  50/1251 (  4%)]  Loss: 6.95 (6.96)  Time: 0.36s,  709.12/s  (0.39s,  651.88/s)  LR: ...
Test: [  97/97]  Time: 0.105 (0.187)  Loss:   1.193 ( 1.374)  Acc@1:  72.321 ( 68.912)  ...
07/03 13:04:17 - mmengine - INFO - Epoch(train)  [1][ 10/196]  lr: 3.3333e-04  eta: 0:13:14  ...
07/03 13:04:17 - mmengine - INFO - Iter(train) [  10/1920]  lr: 3.2145e-05  eta: 0:11:00  ...
07/03 13:04:17 - mmengine - INFO - Epoch(val) [1][79/79]    accuracy/top1: 45.8000  ...
2022-11-12 14:30:37,044 - mmdet - INFO - Epoch [1][50/962]\tlr: 1.978e-03, eta: 2:03:32, ...
[11/24 17:17:38 d2.utils.events]:  eta: 0:03:49  iter: 19  total_loss: 5.922  time: 0.8241  ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from launchers.core.output.training_progress import numbers
from launchers.core.output.training_progress.told import (
    EPOCH,
    LOGGED,
    SAMPLES,
    TRAINING,
    Told,
)

_TIMM = re.compile(r"(?:^|\s)Train: (\d+) \[ *(\d+)/(\d+) \( *\d+%\)\] +(.*)")
_TIMM_TEST = re.compile(r"(?:^|\s)Test(?: \(EMA\))?: \[ *(\d+)/(\d+)\] +(.*)")
_METER = re.compile(r"([A-Za-z][\w@.-]{0,40}): +(\S+) \( *([^\s)]+)\)")
_SAMPLES = re.compile(r"\([\d.]+s, +([\d.]+)/s\)")
_EPOCHS = re.compile(r"(?:Scheduled epochs: |\bworkflow: .{1,200}, max: )(\d+)(?=\.| epochs|$)")
_MM_EPOCH = re.compile(
    r"(?:^|\s)Epoch(?:\((train|val)\))? {0,8}\[ *(\d+)\]\[ *(\d+)(?:/(\d+))?\]\s+(.*)"
)
_MM_ITER = re.compile(r"(?:^|\s)Iter(?:\((train|val)\))? {0,8}\[ *(\d+)/(\d+)\]\s+(.*)")
_ITERATION = re.compile(r"(?:^|\s)iter: (\d+)  (.*\btotal_loss: .*)")
_PAIR = re.compile(r"(?<!\S)([\w./@=-]{1,60}): ([^\s,]+)")
_ETA = re.compile(r"\beta: (?:(\d{1,4}) days?, )?(\d{1,2}:\d\d:\d\d)\b")
# Not metrics of the model: how long something took, and what it cost.
_MEASURES = re.compile(r"eta|iter|(?:last_)?(?:data_)?time|memory|max_mem")


def parse(text: str) -> Told | None:
    """What such a line says; None for any other."""
    if match := _TIMM.search(text):
        return _timm(match)
    if match := _MM_EPOCH.search(text):
        return _of_epoch(match)
    if match := _MM_ITER.search(text):
        return _validation(match[4]) if match[1] == "val" else _of_training(match)
    if match := _ITERATION.search(text):
        return _iteration(match, text)
    if (match := _TIMM_TEST.search(text)) and numbers.whole(match[1]) == numbers.whole(match[2]):
        meters = _METER.findall(match[3])
        return _held_out((name.lower(), mean) for name, _, mean in meters if name != "Time")
    if match := _EPOCHS.search(text):
        return Told(LOGGED, epochs=numbers.whole(match[1]))
    return None


def _timm(match: re.Match[str]) -> Told:
    """Epochs and steps are counted from 0; the rate is the whole job's."""
    step, steps = numbers.whole(match[2]), numbers.whole(match[3])
    meters = _METER.findall(match[4])
    rate = _SAMPLES.search(match[4])
    return Told(
        LOGGED,
        epoch=numbers.whole(match[1]),
        from_zero=True,
        step=None if step is None else step + 1,
        steps=steps,
        of=EPOCH,
        rate=numbers.positive(rate[1]) if rate else None,
        unit=SAMPLES,
        metrics=numbers.metrics(
            (name.lower(), mean) for name, _, mean in meters if name not in ("Time", "Data")
        ),
    )


def _of_epoch(match: re.Match[str]) -> Told | None:
    """OpenMMLab's by epochs, whose ``eta`` is that of the whole training."""
    if match[1] == "val":
        return _validation(match[5])
    if match[4] is None:
        return None
    number = numbers.whole(match[2])
    return Told(
        LOGGED,
        epoch=number,
        from_zero=number == 0,
        step=numbers.whole(match[3]),
        steps=numbers.whole(match[4]),
        of=EPOCH,
        rate=_rate(match[5]),
        metrics=_metrics(match[5]),
        training_left=_eta(match[5]),
    )


def _of_training(match: re.Match[str]) -> Told:
    return Told(
        LOGGED,
        step=numbers.whole(match[2]),
        steps=numbers.whole(match[3]),
        of=TRAINING,
        rate=_rate(match[4]),
        metrics=_metrics(match[4]),
        left=_eta(match[4]),
    )


def _iteration(match: re.Match[str], text: str) -> Told:
    """Detectron2's, which counts from 0 and does not say how many there are."""
    number = numbers.whole(match[1])
    return Told(
        LOGGED,
        step=None if number is None else number + 1,
        of=TRAINING,
        rate=_rate(match[2]),
        metrics=_metrics(match[2]),
        left=_eta(text),
    )


def _validation(text: str) -> Told | None:
    pairs = _PAIR.findall(text)
    return _held_out(
        (name.removeprefix("val/"), value) for name, value in pairs if not _MEASURES.fullmatch(name)
    )


def _held_out(pairs: Iterable[tuple[str, str]]) -> Told | None:
    found = numbers.metrics((f"validation {name}", value) for name, value in pairs)
    return Told(LOGGED, metrics=found) if found else None


def _metrics(text: str) -> dict[str, float]:
    return numbers.metrics(
        (name, value) for name, value in _PAIR.findall(text) if not _MEASURES.fullmatch(name)
    )


def _rate(text: str) -> float | None:
    seconds = next((value for name, value in _PAIR.findall(text) if name == "time"), None)
    pace = numbers.positive(seconds)
    return 1 / pace if pace else None


def _eta(text: str) -> float | None:
    match = _ETA.search(text)
    if match is None:
        return None
    seconds = numbers.seconds(match[2])
    return None if seconds is None else 86400.0 * int(match[1] or 0) + seconds
