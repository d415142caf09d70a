"""What Keras' ``fit`` prints, Keras 2 and 3, with a bar (verbose 1) and without (verbose 2)::

Epoch 1/3
20/22 [==========================>...] - ETA: 0s - loss: 0.4123 - accuracy: 0.9
22/22 - 1s - loss: 0.4123 - accuracy: 0.9312 - 900ms/epoch - 41ms/step
20/22 ━━━━━━━━━━━━━━━━━━━━ 0s 30ms/step - accuracy: 0.9 - loss: 0.4123
"""

from __future__ import annotations

import re

from launchers.core.output.training_progress import numbers
from launchers.core.output.training_progress.told import EPOCH, KERAS, Told

_EPOCH = re.compile(r"Epoch (\d+)/(\d+)")
_BAR = re.compile(r"(\d+)/(\d+|Unknown) +(\[[=>.]*\] - |[━╸╺─]+ |- )?(.*)")
_ETA = re.compile(r"ETA: ?(\S+)")
# The time, and in Keras 3 the time of a step too.
_TIME = re.compile(r"(\d+s|\d+(?::\d\d)+)(?: (\S+)/step)?")
_PER_STEP = re.compile(r"([\d.]+)(us|µs|ms|s)/step")
_METRIC = re.compile(r"([^:]+): (\S+)")
_SCALE = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def parse(text: str) -> Told | None:
    """What a line of Keras says; None for any other."""
    text = text.strip()
    if match := _EPOCH.fullmatch(text):
        number = numbers.whole(match[1])
        return Told(
            KERAS,
            epoch=number,
            from_zero=number == 0,  # a loop's own line, as in PyTorch's tutorials
            epochs=numbers.whole(match[2]),
            of=EPOCH,
        )
    match = _BAR.fullmatch(text)
    if match is None:
        return None
    step, steps = numbers.whole(match[1]), numbers.whole(match[2])
    eta, time, per_step, pairs = None, None, None, []
    for part in match[4].split(" - "):
        part = part.strip()
        if found := _ETA.fullmatch(part):
            eta = numbers.seconds(found[1])
        elif found := _PER_STEP.fullmatch(part):
            per_step = _seconds_of(part)
        elif found := _TIME.fullmatch(part):
            time = numbers.seconds(found[1])
            per_step = _seconds_of(part.partition(" ")[2]) or per_step
        elif found := _METRIC.fullmatch(part):
            pairs.append((found[1], found[2]))
    if step is None or (eta is None and time is None):
        return None
    if match[3] is None and steps is not None:
        return None  # a logger's date and time: 07/03 13:04:17 - ...
    is_open = steps is None or step < steps
    if is_open and eta is None and (match[3] or "").startswith("━"):
        eta = time  # Keras 3 has it where the time of the whole epoch stands at its end
    return Told(
        KERAS,
        step=step,
        steps=steps,
        of=EPOCH,
        rate=1 / per_step if per_step else None,
        metrics=numbers.metrics(pairs),
        left=eta,
        passing=is_open,
    )


def _seconds_of(text: str) -> float | None:
    match = _PER_STEP.fullmatch(text)
    if match is None:
        return None
    count = numbers.positive(match[1])
    return count * _SCALE[match[2]] if count else None
