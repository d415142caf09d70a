"""What a run tells: lines for people and for launchers.

The launcher reads the progress lines, so their grammar is fixed. On the way:

    progress: epoch 1/3, step 20/22, 5120 images/s, loss 0.4123

At an epoch's end, as far as they are known, accuracy, validation loss and validation accuracy, then
the seconds of training since the run's first step, compiling and validation left out:

    progress: epoch 1/3, step 22/22, 5120 images/s, loss 0.4123, accuracy 0.9312, 12.34 s
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Callable, Mapping, Sequence

from .results import Score

SECONDS_BETWEEN_LINES = 1.0
# Behind the loss of an epoch's line, in this order.
MEASURES = ("accuracy", "validation_loss", "validation_accuracy")


def say(line: str) -> None:
    """One line on standard output, at once, and in one piece where threads write there too."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@dataclass(frozen=True)
class Pace:
    """How fast the whole job is.

    Attributes:
        images_per_second: Of what is measured; 0 where nothing was.
        seconds: Of training since the run's first step, compiling and validation left out.
    """

    images_per_second: float
    seconds: float


class Progress:
    """The pace of training and the lines about it; one object a run, on rank 0.

    Rates are images a second of the whole job. The first step of a run compiles the model, so it
    counts for no rate.

    Args:
        epochs: Epochs of the whole run.
        steps: Steps of an epoch.
        samples_per_epoch: Training images that all ranks together read in an epoch.
        samples_per_step: The same of a full step.
        write: Takes a line.
        clock: Seconds, never going back.
        told: Is called with loss and images a second of each line on the way.
    """

    def __init__(
        self,
        epochs: int,
        steps: int,
        samples_per_epoch: int,
        samples_per_step: int,
        write: Callable[[str], None] = say,
        clock: Callable[[], float] = time.monotonic,
        told: Callable[[float, float], None] = lambda loss, rate: None,
    ):
        self._told = told
        self._epochs, self._steps = epochs, steps
        self._samples_per_epoch, self._samples_per_step = samples_per_epoch, samples_per_step
        self._write, self._clock = write, clock
        self._compiled = False
        self._last_line = clock()
        # (seconds, images of this epoch) from where the rate of the epoch, of the line, is taken.
        self._epoch_mark = self._line_mark = (self._last_line, 0)
        self._seconds = 0.0
        self._images = 0

    def epoch_begins(self, steps_before: int = 0) -> None:
        """Starts the epoch's clock; so many of its steps were done by an earlier run."""
        images = self._samples_per_step * steps_before
        self._epoch_mark = self._line_mark = (self._clock(), images)

    def step_ended(self, epoch: int, step: int, loss: Callable[[], float]) -> None:
        """After step ``step`` (from 1) of epoch ``epoch`` (from 1); writes a line when one is due.

        ``loss`` is asked for only then, since the answer may have to wait for a GPU.
        """
        if step == self._steps:
            return
        images = self._samples_per_step * step
        if not self._compiled:
            loss()
            self._compiled = True
            self._last_line = self._clock()
            self._epoch_mark = self._line_mark = (self._last_line, images)
        if self._clock() - self._last_line < SECONDS_BETWEEN_LINES:
            return
        value = loss()
        rate = self._rate(self._line_mark, images)
        self._line(epoch, step, rate, value)
        self._told(value, rate)
        self._line_mark = (self._clock(), images)

    def epoch_measured(self) -> Pace:
        """Stops the epoch's clock after its last step; its rate, and the seconds of all epochs."""
        rate = self._rate(self._epoch_mark, self._samples_per_epoch)
        self._seconds += self._clock() - self._epoch_mark[0]
        self._images += self._samples_per_epoch - self._epoch_mark[1]
        self._compiled = True
        return Pace(rate, self._seconds)

    def epoch_ended(self, epoch: int, pace: Pace, metrics: Mapping[str, float]) -> None:
        """After ``epoch`` (from 1): always a line.

        Args:
            epoch: Its number, from 1.
            pace: What ``epoch_measured`` gave.
            metrics: ``loss`` and what there is of MEASURES, averaged over the ranks.
        """
        known = [name for name in MEASURES if name in metrics]
        words = [f"{name.replace('_', ' ')} {metrics[name]:.4f}" for name in known]
        # To a hundredth: a study of scaling compares epochs of a second, too.
        end = [*words, f"{pace.seconds:.2f} s"]
        self._line(epoch, self._steps, pace.images_per_second, metrics["loss"], end)

    @property
    def pace(self) -> Pace:
        """Of all epochs of this run so far."""
        rate = self._images / self._seconds if self._seconds else 0.0
        return Pace(rate, self._seconds)

    def _rate(self, mark: tuple[float, int], images: int) -> float:
        return (images - mark[1]) / max(self._clock() - mark[0], 1e-9)

    def _line(
        self, epoch: int, step: int, rate: float, loss: float, end: Sequence[str] = ()
    ) -> None:
        words = [
            f"progress: epoch {epoch}/{self._epochs}",
            f"step {step}/{self._steps}",
            f"{rate:.0f} images/s",
            f"loss {loss:.4f}",
            *end,
        ]
        self._write(", ".join(words))
        self._last_line = self._clock()


def result_line(
    score: Score,
    epochs: int,
    pace: Pace,
    world_size: int,
    model: str | None,
    checkpoints: str | None,
    kept: int,
) -> str:
    """The run's last line; its beginning, ``result: test accuracy 0.9722``, is for programs."""
    parts = [
        f"result: test accuracy {score.accuracy:.4f}",
        f"test loss {score.loss:.4f}",
        "1 epoch" if epochs == 1 else f"{epochs} epochs",
        f"{pace.seconds:.1f} s",
        f"{pace.images_per_second:.0f} images/s",
        f"world size {world_size}",
        f"model in {model}" if model else "no model written",
    ]
    if checkpoints:
        count = "1 checkpoint" if kept == 1 else f"{kept} checkpoints"
        parts.append(f"{count} in {checkpoints}")
    else:
        parts.append("no checkpoints written")
    return ", ".join(parts)
