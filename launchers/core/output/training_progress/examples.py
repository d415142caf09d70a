"""The lines of PyTorch's examples, which many scripts began as::

Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.300039
Epoch: [0][  10/391]\tTime  0.541 ( 0.702)\tData  0.001 ( 0.123)\tLoss 6.9 (7.0)\tAcc@1 0 (0)
Test set: Average loss: 0.0501, Accuracy: 9835/10000 (98%)
"""

from __future__ import annotations

import re

from launchers.core.output.training_progress import numbers
from launchers.core.output.training_progress.told import EPOCH, EXAMPLE, SAMPLES, Told

_MNIST = re.compile(r"Train Epoch: (\d+) \[(\d+)/(\d+) \(\d+%\)\]\s*(.*)")
_METRIC = re.compile(r"([A-Za-z][\w@ ]{0,40}): (\S+)")
_IMAGENET = re.compile(r"Epoch: \[(\d+)\]\s{0,4}\[\s*(\d+)/(\d+)\]\s+(.*)")
_METER = re.compile(r"([A-Za-z][\w@]{0,40})\s+(\S+) \(\s*(\S+)\)")
_TEST = re.compile(r"Test set: Average loss: ([^\s,]+), Accuracy: (\d+)/(\d+)")
_CLOCKS = ("Time", "Data")


def parse(text: str) -> Told | None:
    """What a line of those says; None for any other."""
    text = text.strip()
    if match := _MNIST.match(text):
        pairs = [(name.lower(), value) for name, value in _METRIC.findall(match[4])]
        return Told(
            EXAMPLE,
            epoch=numbers.whole(match[1]),
            from_zero=numbers.whole(match[1]) == 0,
            step=numbers.whole(match[2]),
            steps=numbers.whole(match[3]),
            counted=SAMPLES,
            of=EPOCH,
            metrics=numbers.metrics(pairs),
        )
    if match := _IMAGENET.match(text):
        meters = _METER.findall(match[4])
        pace = next((numbers.positive(mean) for name, _, mean in meters if name == "Time"), None)
        pairs = [(name.lower(), mean) for name, _, mean in meters if name not in _CLOCKS]
        return Told(
            EXAMPLE,
            epoch=numbers.whole(match[1]),
            from_zero=True,
            step=numbers.whole(match[2]),
            steps=numbers.whole(match[3]),
            of=EPOCH,
            rate=1 / pace if pace else None,
            metrics=numbers.metrics(pairs),
        )
    if match := _TEST.match(text):
        right, of = numbers.whole(match[2]), numbers.whole(match[3])
        accuracy = f"{right / of:.4f}" if right is not None and of else ""
        return Told(
            EXAMPLE, metrics=numbers.metrics([("test loss", match[1]), ("test accuracy", accuracy)])
        )
    return None
