"""What a job's lines say of its training, epoch by epoch; also those of a user's own script.

    progress: epoch 1/3, step 22/22, 5120 images/s, loss 0.4123, accuracy 0.9312,
        validation loss 0.5012, validation accuracy 0.9001, 12.3 s
    result: test accuracy 0.9722, test loss 0.0912, 3 epochs, 36.9 s, 5120 images/s, ...

What a line doesn't say is None. The parts behind the loss may be missing, and stand in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from launchers.core.model.jobs import LogLine
from launchers.core.output.training_progress.ours import parse, parse_result
from launchers.core.output.training_progress.told import IMAGES, Told
from launchers.scaling.results import Epoch

_MOST_EPOCHS = 100_000
# Of which one, or the seconds, stands in an epoch's last line alone.
_AT_THE_END = ("accuracy", "validation loss", "validation accuracy")


@dataclass(frozen=True)
class Said:
    """What a job's output says.

    Attributes:
        epochs: In order; of each what the line at its end says, else its last line.
        test_accuracy: Of the result line, 0 to 1.
        test_loss: The same.
        diverged: The first epoch whose loss is no finite number; such a one is None in
            :attr:`epochs`.
    """

    epochs: tuple[Epoch, ...] = ()
    test_accuracy: float | None = None
    test_loss: float | None = None
    diverged: int | None = None


def read(lines: Iterable[LogLine]) -> Said:
    """What ``lines`` say: rank 0's, or those of nobody's in particular, since every rank of a
    user's script may print the same."""
    said = Said()
    epochs: dict[int, Epoch] = {}
    ends: set[int] = set()
    for line in lines:
        if line.rank not in (0, None):
            continue
        if told := parse(line.text):
            epoch, is_end = _epoch(told), _is_end(told)
            if not math.isfinite(told.metrics.get("loss", 0.0)) and said.diverged is None:
                said = replace(said, diverged=epoch.number)
            # A step that is told once more behind an epoch's end does not take its place.
            if len(epochs) < _MOST_EPOCHS and (is_end or epoch.number not in ends):
                epochs[epoch.number] = epoch
                ends |= {epoch.number} if is_end else set()
        elif result := parse_result(line.text):
            accuracy, loss = (
                _finite(result.metrics.get(f"test {one}")) for one in ("accuracy", "loss")
            )
            said = replace(said, test_accuracy=accuracy, test_loss=loss)
    return replace(said, epochs=tuple(epochs[number] for number in sorted(epochs)))


def _epoch(told: Told) -> Epoch:
    metrics = told.metrics
    return Epoch(
        told.epoch or 0,
        seconds=told.seconds,
        images_per_second=told.rate if told.unit == IMAGES else None,
        loss=_finite(metrics.get("loss")),
        accuracy=_finite(metrics.get("accuracy")),
        validation_loss=_finite(metrics.get("validation loss")),
        validation_accuracy=_finite(metrics.get("validation accuracy")),
    )


def _is_end(told: Told) -> bool:
    more = told.seconds is not None or any(name in told.metrics for name in _AT_THE_END)
    return more and told.step == told.steps


def _finite(value: float | None) -> float | None:
    """No mean has room for another, nor has JSON."""
    return value if value is not None and math.isfinite(value) else None
