"""The lines of our own scripts, which any script may print::

progress: epoch 1/3, step 20/22, 5120 images/s, loss 0.4123
progress: epoch 1/3, step 22/22, 5120 images/s, loss 0.4123, validation loss 0.5012, 12.3 s
result: test accuracy 0.9722, test loss 0.0912, 3 epochs, 36.9 s, 5120 images/s, world size 2
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from launchers.core.output.training_progress import numbers
from launchers.core.output.training_progress.told import EPOCH, IMAGES, LAUNCH, SAMPLES, STEPS, Told

PREFIX, RESULT = "progress: ", "result: "
_PLACE = re.compile(r"(epoch|step) (\d+)(?:/(\d+))?")
_RATE = re.compile(r"(\S+) (images|samples|steps)/s")
_SECONDS = re.compile(r"(\S+) s")
_METRIC = re.compile(r"(.+) (\S+)")
_EPOCHS = re.compile(r"(\d+) epochs?")
_UNITS = {"images": IMAGES, "samples": SAMPLES, "steps": STEPS}


def parse(text: str) -> Told | None:
    """What a line of ours says; None for any other. An epoch is asked for, all else may be left
    out."""
    if not text.startswith(PREFIX):
        return None
    place: dict[str, tuple[int | None, int | None]] = {}
    rate, unit, seconds, pairs = None, STEPS, None, []
    for part in text[len(PREFIX) :].split(", "):
        part = part.strip()
        if match := _PLACE.fullmatch(part):
            place.setdefault(match[1], (numbers.whole(match[2]), numbers.whole(match[3])))
        elif match := _RATE.fullmatch(part):
            rate, unit = numbers.positive(match[1]), _UNITS[match[2]]
        elif match := _SECONDS.fullmatch(part):
            seconds = numbers.positive(match[1])
        elif match := _METRIC.fullmatch(part):
            pairs.append((match[1], match[2]))
    epoch, epochs = place.get("epoch", (None, None))
    if epoch is None:
        return None
    step, steps = place.get("step", (None, None))
    return Told(
        LAUNCH,
        epoch=epoch,
        epochs=epochs,
        step=step,
        steps=steps,
        of=EPOCH,
        rate=rate,
        unit=unit,
        metrics=numbers.metrics(pairs),
        seconds=seconds,
        passing=True,
    )


@dataclass(frozen=True)
class Result:
    """A script's ``result:`` line; None for what it does not say.

    Attributes:
        metrics: By name: ``test accuracy``, ``test loss``.
        seconds: Of training.
        rate: Images a second of the whole job.
    """

    metrics: Mapping[str, float]
    epochs: int | None = None
    seconds: float | None = None
    rate: float | None = None


def parse_result(text: str) -> Result | None:
    """What a ``result:`` line says; None for any other."""
    if not text.startswith(RESULT):
        return None
    epochs, seconds, rate, pairs = None, None, None, []
    for part in text[len(RESULT) :].split(", "):
        part = part.strip()
        if match := _EPOCHS.fullmatch(part):
            epochs = numbers.whole(match[1])
        elif match := _RATE.fullmatch(part):
            rate = numbers.positive(match[1])
        elif match := _SECONDS.fullmatch(part):
            seconds = numbers.positive(match[1])
        elif (match := _METRIC.fullmatch(part)) and match[1] != "world size":
            pairs.append((match[1], match[2]))
    return Result(numbers.metrics(pairs), epochs, seconds, rate)
